import type { OpenIndex, Wanted } from "./open-index.ts";
import type { Asking } from "./port/asking.ts";
import { capitalsIn, formOf, type Question } from "./score/question.ts";
import type { StandIn, StandIns } from "./score/question-evidence.ts";
import { foldText } from "./words/fold-text.ts";
import { editsAllowed, type NearWord, nearWords } from "./words/near-words.ts";
import { possibleSpellings } from "./words/other-spellings.ts";
import { stem } from "./words/words.ts";

/** A question as it was asked, and as it was read. */
export interface AskedQuestion {
  readonly text: string;
  readonly question: Question;
}

/** What a word counts that stands for another one, where that one counts 1. */
const COUNTS = { spelling: 1, beginning: 0.9, otherForm: 0.85, near: [1, 0.7, 0.5] } as const;
/** The most words that stand for one. */
const NEAR_MAX = 3;

/** Whether a question has words that no entry has. The index has looked them up. */
export function hasUnknown(index: OpenIndex, questions: readonly AskedQuestion[]): boolean {
  return questions.some(({ question }) => unknownOf(index, question).length > 0);
}

function unknownOf(index: OpenIndex, { forms, otherForms }: Question): [string, string][] {
  const isUnknown = (form: string) => index.postings(form).slots.length === 0;
  return [...forms].filter(
    ([form, word]) => isUnknown(form) && (otherForms.get(word) ?? []).every(isUnknown),
  );
}

/**
 * The words of the store that stand for words of the questions that no entry has: another spelling, words that
 * begin with a checksum or version, and words that are spelled almost so.
 *
 *     soehne        söhne
 *     deadbee       deadbeef41
 *     hazlenut      hazelnut
 */
export function* findStandIns(
  index: OpenIndex,
  questions: readonly AskedQuestion[],
  wanted: Wanted,
): Asking<StandIns> {
  const candidates = new Map<string, Candidates>();
  for (const { text, question } of questions) {
    const unknown = unknownOf(index, question);
    if (unknown.length === 0) continue;
    const inCapitals = new Set(capitalsIn(text));
    for (const [form, word] of unknown) {
      const near = inCapitals.has(word) ? [] : yield* nearIn(index, form);
      const spellings = possibleSpellings(word).map(formOf);
      const beginning = BEGINNING.test(word) ? `${word}*` : undefined;
      if (near.length + spellings.length === 0 && beginning === undefined) continue;
      const isEnglish = question.isEnglish;
      candidates.set(form, { word, form, near, spellings, beginning, isEnglish });
    }
  }
  if (candidates.size === 0) return new Map();
  const more = [...candidates.values()].flatMap(({ near, spellings, beginning }) => [
    ...near.map(({ word }) => word),
    ...spellings,
    ...(beginning === undefined ? [] : [beginning]),
  ]);
  yield* index.catchUp({ ...wanted, words: [...wanted.words, ...more] });
  return new Map(
    [...candidates].flatMap(([form, some]) => {
      const best = bestOf(index, some);
      return best ? [[form, best] as const] : [];
    }),
  );
}

/** A checksum, or a number or version with more behind it. */
const BEGINNING = /^(?:[0-9a-f]{7,}|(?=[a-z]*\d)[a-z0-9]{6,}|v?\d+\.\d[\d.]*)$/;

interface Candidates {
  readonly word: string;
  readonly form: string;
  readonly near: readonly NearWord[];
  readonly spellings: readonly string[];
  readonly beginning: string | undefined;
  readonly isEnglish: boolean;
}

function* nearIn(index: OpenIndex, form: string): Asking<NearWord[]> {
  const limit = editsAllowed(form);
  if (limit === 0) return [];
  const found = new Map<string, NearWord>();
  // The stem of "proxy" is "proxi", and that of "prxoy" is itself.
  const asked = form.endsWith("y") ? [form, `${form.slice(0, -1)}i`] : [form];
  for (const letter of new Set([form[0] as string, form[1] as string])) {
    for (const list of yield* index.wordsBeginningWith(letter)) {
      for (const near of asked.flatMap((one) => nearWords(one, limit, list))) {
        const known = found.get(near.word);
        if (editsAllowed(near.word) > 0 && !(known && known.edits <= near.edits)) {
          found.set(near.word, near);
        }
      }
    }
  }
  const all = [...found.values()].sort((one, other) => one.edits - other.edits);
  return all.filter(({ edits }) => edits === all[0]?.edits);
}

function bestOf(index: OpenIndex, candidates: Candidates): StandIn | undefined {
  const { word, form, near, spellings, beginning, isEnglish } = candidates;
  const count = (one: string) => index.postings(one).slots.length;
  const spelled = spellings.filter((one) => count(one) > 0);
  if (spelled.length > 0) return { word, forms: spelled, counts: COUNTS.spelling, isNear: false };
  if (beginning !== undefined && count(beginning) > 0) {
    return { word, forms: [beginning], counts: COUNTS.beginning, isNear: false };
  }
  const best = near
    .filter((one) => count(one.word) > 0)
    .sort((one, other) => count(other.word) - count(one.word) || (one.word < other.word ? -1 : 1))
    .slice(0, NEAR_MAX);
  const [first] = best;
  if (!first) return undefined;
  const forms = best.map((one) => one.word);
  if (!isEnglish && forms.every((other) => isOtherForm(form, other))) {
    return { word, forms, counts: COUNTS.otherForm, isNear: false };
  }
  return { word, forms, counts: COUNTS.near[first.edits] ?? 0.5, isNear: true };
}

/** Whether only the last letters differ, as in the forms of a word that is not stemmed: сервер and сервере. */
function isOtherForm(one: string, other: string): boolean {
  const shared = Math.max(one.length, other.length) - 2;
  return one.slice(0, shared) === other.slice(0, shared);
}

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
