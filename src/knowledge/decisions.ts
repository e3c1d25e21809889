/** A sentence that states a choice or an exclusion. */
const DECISION =
  /\b(?:decided|decision|we(?:'ll|’ll| will)? (?:chose|choose|go with|use|keep|settle)|agreed|settled on|let(?:'|’)?s (?:use|go with|keep)|chose|ruled out|rejected|instead of|rather than|trade-?off)\b/iu;

/** What may stand before the sentence's own words. */
const OPENING =
  /^(?:(?:ok(?:ay)?|now|next|first|then|great|good|perfect|so|and|but|also|finally|alright|right|sure|yes|actually|hmm|wait|done)\b[\s,.:;!–—-]{0,4}){1,4}/iu;

/** What the model is about to do. It tells of a step, and of no choice. */
const ANNOUNCEMENT =
  /^(?:let me\b|i(?:'ll|’ll| will|(?:'m|’m| am) (?:going to|about to)|(?:'m|’m| am) now| need to| have to| want to| should| can| could)\b|we (?:need to|have to|should|can|could)\b|let(?:'|’)?s (?!use|go with|keep|settle|stick)|time to\b|going to\b|\p{L}{2,}ing\b)/iu;

/** A choice that the one who makes it announces: "I'll go with the table". */
const OWN_CHOICE =
  /^(?:i|we)(?:'ll|’ll| will|(?:'m|’m| am) going to) (?:go with|keep|stick (?:with|to)|choose|settle on|leave)\b/iu;

/** A reason, in the sentence or at the beginning of the next one. */
const REASON =
  /\b(?:because|since|so that|otherwise|the reason|due to|weil|damit|sonst|parce que|porque)\b/iu;
const GIVES_REASON =
  /^(?:because|since|otherwise|the reason|that way|this way|it|that|this|they|weil|sonst|car|porque)\b/iu;

const SENTENCE = { min: 15, max: 300 } as const;

/**
 * The decisions in a message, word for word, each with its reason where the next sentence gives it. What a model
 * says that it is going to do ("Now let me update the method") is none, unless it says why.
 */
export function decisionsIn(message: string): readonly string[] {
  return message
    .split("\n")
    .filter((line) => !/^\s*[>|]/.test(line))
    .flatMap((line) => {
      const sentences = line.split(/(?<=[.!?])\s+/).map((sentence) => sentence.trim());
      return sentences.flatMap((sentence, index) => {
        if (!isDecision(sentence)) return [];
        const next = sentences[index + 1] ?? "";
        const hasReason = GIVES_REASON.test(next) && !isDecision(next) && !next.endsWith("?");
        const whole = hasReason && !REASON.test(sentence) ? `${sentence} ${next}` : sentence;
        return [whole.length <= SENTENCE.max ? whole : sentence];
      });
    });
}

function isDecision(sentence: string): boolean {
  if (sentence.length < SENTENCE.min || sentence.length > SENTENCE.max) return false;
  if (sentence.endsWith("?")) return false;
  const own = sentence.replace(/^[-*•\d.)\s]{0,8}/, "").replace(OPENING, "");
  if (OWN_CHOICE.test(own)) return true;
  return DECISION.test(sentence) && (!ANNOUNCEMENT.test(own) || REASON.test(own));
}
