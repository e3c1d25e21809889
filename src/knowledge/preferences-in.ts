import { FORGOTTEN } from "../core/message.ts";
import { oneLine } from "./one-line.ts";

/** A longer message was probably pasted, so its words may not be the user's. */
const MESSAGE_MAX = 1500;
const SENTENCE = { min: 8, max: 300 } as const;

/** Beginnings of sentences that state a lasting wish. */
const LASTING =
  /^(?:(?:please|and|also|but|so|ok(?:ay)?|note|remember)[,:]? )*(?:(?:always|never) (?<always>[\p{L}'’-]+)|prefer|from now on|in (?:the )?future|going forward|by default|i (?:always |would |'d )?prefer|i (?:never|always) want you to|(?:do not|don't|don’t) ever|(?:do not|don't|don’t)\b.*\b(?:again|any ?more|in (?:the )?future|ever))\b/iu;

/** "Always here to help", "Never had the chance": a description, not a request. */
const NO_REQUEST =
  /^(?!(?:embed|exceed|feed|proceed|seed|shed|speed|bring|ping|string)$)(?:an?|the|my|your|his|her|our|their|its?|this|that|here|there|up|down|in|on|at|for|of|to|with|about|around|ready|good|great|nice|happy|glad|fun|better|best|more|too|so|very|really|quite|had|has|been|was|were|is|are|am|will|would|could|can|did|does|saw|thought|knew|felt|heard|mind|say|ever|again|\p{L}+ing|\p{L}+ed)$/iu;

/**
 * The lasting wishes in a user's message: "Always …", "Never …", "Prefer …", "From now on …".
 *
 * Only the user's own sentences count. Quotes, code, tags and everything after an announcing colon
 * may be by others, and a long message is skipped. It is better to miss a wish than to obey a document.
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
    // Up to the last closing tag, because pasted text may have closing tags of its own.
    .replace(/<([a-z][\w-]*)\b[^>]*>(?:[\s\S]*<\/\1>|[\s\S]*$)/gi, "\n")
    .replace(/^[\s\S]*<\/[a-z][\w-]*>/i, "\n")
    .replace(/^\s*>.*$/gm, "")
    .replace(/^(?: {4}|\t).*$/gm, "");
  // "Summarise this:" announces text by others.
  const announced = text.search(/:[ \t]*(?:\n|$)/);
  return announced < 0 ? text : text.slice(0, announced).replace(/[^\n.!?]*$/, "");
}

/** The text before the first code block and after the last. Between two, it may be pasted. */
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
      // Skip the whole sentence when it has a quote.
      .filter((sentence) => !/["“”«»„]/.test(sentence) && !sentence.includes(FORGOTTEN))
  );
}
