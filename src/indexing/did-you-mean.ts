import type { StandIns } from "./score/question-evidence.ts";
import type { AskedQuestion } from "./stand-ins.ts";
import { foldText } from "./words/fold-text.ts";
import { editsAllowed, nearWords } from "./words/near-words.ts";
import { stem } from "./words/words.ts";

/**
 * A question with the words that an entry has in place of those that no entry has; `undefined` when it has none of them:
 *
 *     hazlenut alergy  ─►  hazelnut allergy
 */
export function didYouMean(
  questions: readonly AskedQuestion[],
  standIns: StandIns,
  content: string,
): string | undefined {
  const near = [...standIns.values()].filter(({ isNear }) => isNear);
  if (near.length === 0) return undefined;
  const written = new Map<string, string>();
  const beginnings = new Set(near.flatMap(({ forms }) => forms.map((form) => form[0])));
  for (const [word] of content.matchAll(LETTERS)) {
    const folded = foldText(word);
    if (beginnings.has(folded[0])) written.set(stem(folded), word);
  }
  for (const { text } of questions) {
    const meant = text.replace(LETTERS, (asked) => {
      const folded = foldText(asked);
      const forms = near.find(({ word }) => word === folded)?.forms ?? [];
      // Stems may be nearer to each other than their words are.
      const found = forms
        .flatMap((form) => written.get(form) ?? [])
        .find((one) => nearWords(folded, editsAllowed(folded), foldText(one)).length > 0);
      return found === undefined ? asked : inCaseOf(asked, found);
    });
    if (meant !== text) return meant;
  }
  return undefined;
}

const LETTERS = /[\p{L}\p{M}]+/gu;

function inCaseOf(asked: string, found: string): string {
  return asked === asked.toLowerCase() ? found.toLowerCase() : found;
}
