import { createRequire } from "node:module";
import { foldText } from "./fold-text.ts";
import { sharedLength } from "./near-words.ts";

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
export function sameRoot(
  { word, form }: Pick<WordOf, "word" | "form">,
  words: Iterable<string>,
  kind: RootKind,
): string[] {
  const { least, share } = ROOTS[kind];
  let most: number = least;
  let found: string[] = [];
  for (const other of words) {
    const shared = sharedLength(form, other);
    const longer = Math.max(word.length, other.length);
    if (other === form || shared < most || shared < share * longer) continue;
    if (form.length - shared > ENDING || other.length - shared > ENDING) continue;
    if (shared > most) found = [];
    most = shared;
    found.push(other);
  }
  return found.slice(0, FORMS_MAX);
}

/** The letters that words with the same root share, in number and as a part of the longer one. */
const ROOTS = {
  told: { least: 4, share: 0.56 },
  any: { least: 6, share: 0.65 },
  english: { least: 5, share: 0.7 },
} as const;
/** Whether the language of a question is told, or it may be any one. Most forms of English words have the same stem already. */
export type RootKind = keyof typeof ROOTS;
const ENDING = 5;

/** The languages whose words are known in all of their forms. */
export const STEMMED = [
  "arabic",
  "danish",
  "dutch",
  "finnish",
  "french",
  "german",
  "hungarian",
  "italian",
  "norwegian",
  "portuguese",
  "romanian",
  "russian",
  "spanish",
  "swedish",
  "turkish",
  "ukrainian",
] as const;

export type StemmedLanguage = (typeof STEMMED)[number];

function isStemmed(language: string): language is StemmedLanguage {
  return (STEMMED as readonly string[]).includes(language);
}

type Stemmer = (word: string) => string;

type Load = (file: string) => unknown;

const loadPackage: Load = createRequire(import.meta.url);
const known = new Map<StemmedLanguage, Stemmer>();

/**
 * What all forms of a word share in a language, folded: `reinig` of "Reinigung", "reinigen" and "gereinigt". The words are
 * folded ones, as the index has them. The rules of a language are loaded when it is first used.
 */
export function stemmerOf(language: StemmedLanguage): Stemmer {
  const before = known.get(language);
  if (before) return before;
  const stemmer = packaged(language, loadPackage);
  const ready = stemmer ? remembered(withRules(stemmer, RULES[language] ?? {})) : asWritten;
  known.set(language, ready);
  return ready;
}

/** Undefined in a program that was bundled without the package: words are known as they are written then. */
export function packaged(language: StemmedLanguage, load: Load): Stemmer | undefined {
  try {
    return (load(`@orama/stemmers/${language}`) as { readonly stemmer: Stemmer }).stemmer;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND") return;
    throw error;
  }
}

const asWritten: Stemmer = (word) => word;

/** Rules that the stemmer of a language lacks, or has only for letters that folding takes away. */
interface Rules {
  readonly before?: Stemmer;
  /** Endings that are left of other parts of speech. The stem keeps four letters at least. */
  readonly endings?: RegExp;
  readonly after?: Stemmer;
}

/** "gereinigt" is a form of "reinigen". */
const withoutParticiple: Stemmer = (word) => word.replace(/^ge(?=.{4,}(?:t|en|d)$)/, "");
/** "nyckel" and "nycklar", "Schlüssel" and "Schlüsseln". */
const withoutVowel: Stemmer = (stem) => stem.replace(/(?<=.{3})e(?=[lnr]$)/, "");

/** "nyckeln" is "nyckel", and "Schlüsseln" "Schlüssel". */
const withoutN: Stemmer = (word) => word.replace(/(?<=.{3}[lr])n$/, "");

const RULES: { readonly [Language in StemmedLanguage]?: Rules } = {
  german: {
    before: (word) => withoutN(withoutParticiple(word)),
    endings: /(?<=.{4})(?:ung|et|t)$/,
  },
  dutch: { before: withoutParticiple, endings: /(?<=.{4})(?:ing|[dt])$/ },
  swedish: { before: withoutN, endings: /(?<=.{4})(?:ning|ing)$/, after: withoutVowel },
  danish: { endings: /(?<=.{4})(?:ning|ing)$/, after: withoutVowel },
  norwegian: { endings: /(?<=.{4})(?:ning|ing)$/, after: withoutVowel },
  french: { before: (word) => word.replace(/(?<=.{2})aux$/, "al") },
  portuguese: { before: (word) => word.replace(/(?<=.)(?:oes|aes|aos)$/, "ao") },
  // Folding makes й an и, and most endings of adjectives have it.
  russian: { before: (word) => word.replace(/(?<=[аеоуыиэюя])и$/, "й") },
};

function withRules(stem: Stemmer, { before, endings, after }: Rules): Stemmer {
  return (word) => {
    let now = foldText(stem(before?.(word) ?? word));
    if (endings) now = foldText(stem(now.replace(endings, "")));
    return after?.(now) ?? now;
  };
}

/** More are not kept. */
const KEPT_MAX = 50_000;

function remembered(stem: Stemmer): Stemmer {
  const stems = new Map<string, string>();
  return (word) => {
    const before = stems.get(word);
    if (before !== undefined) return before;
    const found = stem(word);
    if (stems.size >= KEPT_MAX) stems.clear();
    stems.set(word, found);
    return found;
  };
}
