import { wordSet } from "../../text/word-set.ts";

/** Languages that write nouns together. */
const COMPOUNDING: ReadonlySet<string> = new Set([
  "german",
  "dutch",
  "swedish",
  "danish",
  "norwegian",
  "finnish",
  "hungarian",
]);

/** The languages, of these, that write nouns together. */
export function compoundingOf(languages: readonly string[]): readonly string[] {
  return languages.filter((language) => COMPOUNDING.has(language));
}

/** A part has this many letters at least. */
const PART = 4;
const COMPOUND_MAX = 40;
/** Letters that may stand between two parts. */
const LINKS = ["", "s", "n", "en", "es", "er", "e", "ns"];

/** Endings that look like words of their own. */
const NO_PARTS: ReadonlySet<string> =
  wordSet(`lich chen heit keit haft sam bar los voll schaft ung ungs tion isch isches igen igkeit ende enden ten sten stens eren
  ieren iert liche lichen licher heid lijk lijke baar achtig ning ningen ling lingen else elser ande ende aren arna orna
  erna arnas eller inen inen isen iden lein nisse`);

/** Finds the words of a store that a part of a compound may be. Returns none for a part that it does not have. */
export type PartForms = (part: string) => readonly string[];

export interface CompoundPart {
  readonly part: string;
  readonly forms: readonly string[];
}

/**
 * The parts of a word that no entry has, as words that entries have: the two with the longest shorter one; or one of them, if
 * it is most of the word:
 *
 *     kaffeemaschinenreinigung   kaffeemaschine · gereinigt
 *     buromietvertrag            buro · mietvertrag
 */
export function partsOf(word: string, formsOf: PartForms): readonly CompoundPart[] {
  if (word.length < 2 * PART || word.length > COMPOUND_MAX || !/^\p{L}+$/u.test(word)) return [];
  let best: readonly CompoundPart[] = [];
  let quality = 0;
  for (let at = PART; at <= word.length - PART; at += 1) {
    const [left, right] = [word.slice(0, at), word.slice(at)];
    if (NO_PARTS.has(right)) continue;
    const parts = [part(withoutLinks(left), formsOf), part([right], formsOf)];
    const found = parts.filter(({ forms }) => forms.length > 0);
    const letters = found.map(({ part }) => part.length);
    const all = found.length === 2;
    const now = all ? 100 + Math.min(...letters) : Math.max(0, ...letters);
    if (now <= quality || (!all && 5 * now < 3 * word.length)) continue;
    quality = now;
    best = parts;
  }
  return best;
}

function withoutLinks(left: string): string[] {
  return LINKS.filter((link) => left.endsWith(link))
    .map((link) => left.slice(0, left.length - link.length))
    .filter((stem) => stem.length >= PART);
}

function part(candidates: readonly string[], formsOf: PartForms): CompoundPart {
  for (const part of candidates) {
    const forms = formsOf(part);
    if (forms.length > 0) return { part, forms };
  }
  return { part: candidates[0] ?? "", forms: [] };
}

/** A shorter form of a word has this many letters at least: more words begin with fewer letters by chance. */
const SHORTER = 5;
/** The letters of an ending at most: "rechn" begins other words than "Rechnungen" does. */
const ENDING = 3;

/**
 * The shortest beginning of a word that is another form of it, or the word itself. Compounds have it in place of the
 * word: `rechnung` of "Rechnungen" in "Rechnungsnummer", `wasch` of "waschen" in "Waschmaschine".
 */
export function shortestForm(word: string, isForm: (beginning: string) => boolean): string {
  for (let length = Math.max(SHORTER, word.length - ENDING); length < word.length; length += 1) {
    const beginning = word.slice(0, length);
    if (isForm(beginning)) return beginning;
  }
  return word;
}

/** Whether a word has enough behind a beginning for another part, and no ending. */
export function beginsCompound(word: string, beginning: string): boolean {
  const rest = word.slice(beginning.length);
  return rest.length >= PART && !NO_PARTS.has(rest);
}

/** The compounds among some words that end with a word: `mietvertrag` for `vertrag`. `isForm` tells its forms. */
export function endingWith(
  form: string,
  words: Iterable<string>,
  isForm: (end: string) => boolean,
): string[] {
  const found: string[] = [];
  for (const word of words) {
    const at = word.lastIndexOf(form);
    if (at >= 3 && isForm(word.slice(at))) found.push(word);
  }
  return found;
}
