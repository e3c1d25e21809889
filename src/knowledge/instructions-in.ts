import { oneLine } from "./one-line.ts";
import { type OwnWords, ownWords } from "./own-sentences.ts";
import { isLasting } from "./preferences-in.ts";

/** A longer message was probably pasted, so its words may not be the user's. */
const MESSAGE_MAX = 20_000;
const SENTENCE = { min: 8, max: 500 } as const;
/** No session has room for more. The last ones count. */
const COUNT_MAX = 400;

/** "Constraints:" or "Follow these rules:" before a list, or "Constraint:" before a sentence. */
const HEADING =
  /^(?:[#*_ ]*(?:(?:please )?(?:follow|obey|respect|keep to|stick to|here are) )?(?:the |these |my |our |following |some |hard |strict |important |standing |ground )*(?:constraints?|rules?|requirements?|restrictions?|limits|limitations?|guidelines?|standing instructions?)(?: (?:for|of) (?:you|this (?:session|task|project)))?[*_ ]*)$/i;

/** The start of a sentence that holds for the rest of a session. */
const STANDING =
  /^(?:(?:please|and|also|but|so|ok(?:ay)?|note|remember|important)[,:]? )*(?:(?:constraint|rule|requirement|restriction|limit|guideline)s?: |(?:do not|don't|don’t|never|only|under no circumstances|at no (?:time|point)|in no case|no longer|stop|you (?:must|may|can|are (?:not )?allowed to|should (?:never|always|not|only))|make sure|be sure to|keep in mind|as of now|for the rest of|(?:in|for|during) this (?:session|conversation|chat)|until (?:i|we) (?:say|tell)|it(?:'s| is|’s) (?:now )?ok(?:ay)? to|feel free to) \S)/i;

/** Said of this moment, and not as an instruction. */
const PASSING =
  /^(?:please )?(?:(?:do not|don't|don’t) (?:worry|mind|bother|panic|thank|know|think|understand|see|care|remember|believe|like|want|need|have|get|you|we|they|i)\b|never mind|stop (?:it|that|here|now|there)?[.!]?$|only (?:then|now|if|when|because|one|two|three|a|an|the|some|after|recently|today|yesterday)\b|you can (?:see|find|also see|read|tell|imagine|check|look)\b)/i;

/**
 * The standing instructions in a user's message, word for word: its lasting wishes, and what holds for
 * the rest of the session ("Never use the network.", "Constraint: only edit files under src/"), and the
 * items of a list under "Constraints:" or "Rules:".
 *
 * Only the user's own sentences count, as for `preferencesIn`.
 */
export function instructionsIn(message: string): readonly string[] {
  if (message.length > MESSAGE_MAX) return [];
  const found = ownWords(message, HEADING).filter(isInstruction);
  const last = found.slice(-COUNT_MAX);
  return [...new Set(last.map(({ text }) => oneLine(text, SENTENCE.max)))];
}

/** A listed item is one in any wording and language. */
function isInstruction({ text, isListed }: OwnWords): boolean {
  if (isListed) return text.length <= SENTENCE.max && !text.endsWith("?");
  return isLasting(text) || isStanding(text);
}

function isStanding(sentence: string): boolean {
  if (sentence.length < SENTENCE.min || sentence.length > SENTENCE.max) return false;
  return STANDING.test(sentence) && !PASSING.test(sentence) && !sentence.endsWith("?");
}
