import { oneLine } from "./one-line.ts";
import { ownSentences } from "./own-sentences.ts";

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
 * The lasting wishes in a user's message: "Always …", "Never …", "Prefer …", "From now on …". Only
 * the user's own sentences count, and a long message is skipped.
 */
export function preferencesIn(message: string): readonly string[] {
  if (message.length > MESSAGE_MAX) return [];
  return ownSentences(message)
    .filter(isLasting)
    .map((sentence) => oneLine(sentence, SENTENCE.max));
}

/** Whether a sentence states a lasting wish. */
export function isLasting(sentence: string): boolean {
  if (sentence.length < SENTENCE.min || sentence.length > SENTENCE.max) return false;
  if (/\?$|^never give up/i.test(sentence)) return false;
  const found = LASTING.exec(sentence);
  return found !== null && !NO_REQUEST.test(found.groups?.always ?? "");
}
