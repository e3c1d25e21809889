import { FORGOTTEN } from "../core/message.ts";
import { oneLine } from "./one-line.ts";

/** A message with more than this was not typed; whose words they are cannot be told. */
const MESSAGE_MAX = 1500;
const SENTENCE = { min: 8, max: 300 } as const;

/** How a sentence begins that is meant to hold from now on. */
const LASTING =
  /^(?:(?:please|and|also|but|so|ok(?:ay)?|note|remember)[,:]? )*(?:(?:always|never) (?<always>[\p{L}'’-]+)|prefer|from now on|in (?:the )?future|going forward|by default|i (?:always |would |'d )?prefer|i (?:never|always) want you to|(?:do not|don't|don’t) ever|(?:do not|don't|don’t)\b.*\b(?:again|any ?more|in (?:the )?future|ever))\b/iu;

/** "Always here to help", "Never had the chance", "Always staying calm": of somebody, and no request. */
const NO_REQUEST =
  /^(?!(?:embed|exceed|feed|proceed|seed|shed|speed|bring|ping|string)$)(?:an?|the|my|your|his|her|our|their|its?|this|that|here|there|up|down|in|on|at|for|of|to|with|about|around|ready|good|great|nice|happy|glad|fun|better|best|more|too|so|very|really|quite|had|has|been|was|were|is|are|am|will|would|could|can|did|does|saw|thought|knew|felt|heard|mind|say|ever|again|\p{L}+ing|\p{L}+ed)$/iu;

/**
 * What a user states in a message that is to hold beyond it: "Always …",
 * "Never …", "Prefer …", "From now on …".
 *
 * Only the user's own sentences count. What stands in quotes, code, tags or
 * after a colon that announces something is somebody else's, and a long message
 * is not looked at: rather miss one than obey a document.
 */
export function preferencesIn(message: string): readonly string[] {
  if (message.length > MESSAGE_MAX) return [];
  return sentencesOf(ownWords(message))
    .filter(({ length }) => length >= SENTENCE.min && length <= SENTENCE.max)
    .filter((sentence) => isLasting(sentence) && !/\?$|^never give up/i.test(sentence))
    .map((sentence) => oneLine(sentence, SENTENCE.max));
}

function isLasting(sentence: string): boolean {
  const found = LASTING.exec(sentence);
  return found !== null && !NO_REQUEST.test(found.groups?.always ?? "");
}

function ownWords(message: string): string {
  const text = aroundCode(message)
    // To the last end that there is: what is pasted may have one of its own, followed by more.
    .replace(/<([a-z][\w-]*)\b[^>]*>(?:[\s\S]*<\/\1>|[\s\S]*$)/gi, "\n")
    .replace(/^[\s\S]*<\/[a-z][\w-]*>/i, "\n")
    .replace(/^\s*>.*$/gm, "")
    .replace(/^(?: {4}|\t).*$/gm, "");
  // "Summarise this:" – what follows is this.
  const announced = text.search(/:[ \t]*(?:\n|$)/);
  return announced < 0 ? text : text.slice(0, announced).replace(/[^\n.!?]*$/, "");
}

/** What is before all code blocks and behind them; between two it cannot be told from pasted text. */
function aroundCode(message: string): string {
  const parts = message.split(/```|~~~/);
  const last = parts.length % 2 === 1 && parts.length > 1 ? parts.at(-1) : "";
  return `${parts[0]}\n${last}`;
}

function sentencesOf(text: string): readonly string[] {
  return (
    text
      .split(/(?<=[.!?])\s+|\n+/)
      .map((sentence) => sentence.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, "").trim())
      // A quote inside a sentence makes all of it doubtful.
      .filter((sentence) => !/["“”«»„]/.test(sentence) && !sentence.includes(FORGOTTEN))
  );
}
