import { isStemmed, stemmerOf } from "./stemmers.ts";

/** A word of a question in the languages that it may be of: folded, and as the index has it. */
export interface WordOf {
  readonly word: string;
  readonly form: string;
  readonly languages: readonly string[];
}

/** Letters that all forms of a word begin with, mostly. */
const BEGINNING = 3;
const FORMS_MAX = 32;

/** How the words of a store begin among which the forms of a word are. */
export function beginningOf(form: string): string {
  return form.slice(0, BEGINNING);
}

/** The words with the same stem in one of the languages, `form` left out. */
export function sameStem({ word, form, languages }: WordOf, words: Iterable<string>): string[] {
  const stemmers = languages.filter(isStemmed).map(stemmerOf);
  const stems = stemmers.map((stem) => new Set([stem(word), stem(form)]));
  const found: string[] = [];
  for (const other of words) {
    if (other === form || found.length === FORMS_MAX) continue;
    if (stemmers.some((stem, at) => stems[at]?.has(stem(other)))) found.push(other);
  }
  return found;
}

/** The words that begin alike so long that they are probably other forms, or of the same root: `allergie`, `allergisch`. */
export function sameRoot(form: string, words: Iterable<string>, isTold: boolean): string[] {
  const { least, share } = isTold ? ROOT : ROOT_OF_ANY;
  let most = least;
  let found: string[] = [];
  for (const other of words) {
    const shared = sharedLength(form, other);
    const longer = Math.max(form.length, other.length);
    if (other === form || shared < most || shared < share * longer) continue;
    if (form.length - shared > ENDING || other.length - shared > ENDING) continue;
    if (shared > most) found = [];
    most = shared;
    found.push(other);
  }
  return found.slice(0, FORMS_MAX);
}

/** The letters that words with the same root share, in number and as a part of the longer one. */
const ROOT = { least: 4, share: 0.56 };
const ROOT_OF_ANY = { least: 6, share: 0.65 };
const ENDING = 5;

function sharedLength(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return at;
}
