import { bestOf, type Candidates, COUNTS } from "./choose-stand-in.ts";
import type { OpenIndex, Wanted } from "./open-index.ts";
import type { Asking } from "./port/asking.ts";
import { capitalsIn, formOf, type Question } from "./score/question.ts";
import type { StandIn, StandIns } from "./score/question-evidence.ts";
import {
  beginsCompound,
  type CompoundPart,
  compoundingOf,
  endingWith,
  partsOf,
  shortestForm,
} from "./words/compounds.ts";
import { tellingWords } from "./words/function-words.ts";
import { editsAllowed, isOtherWord, misspelled, type NearWord } from "./words/near-words.ts";
import { beginningOf, sameRoot, sameStem } from "./words/other-forms.ts";
import { possibleSpellings } from "./words/other-spellings.ts";

/** A question as it was asked, and as it was read. */
export interface AskedQuestion {
  readonly text: string;
  readonly question: Question;
}

/** Words to look up with those of the questions: they tell the languages of the store, for a question of words alone. */
export function tellingWordsFor(questions: readonly AskedQuestion[]): readonly string[] {
  const isTold = questions.every(({ question }) => !isOfAny(question));
  return isTold ? [] : [...tellingWords().values()].flat();
}

/** Whether a question is of words alone. A longer one has words that tell its language. */
function isOfAny({ languages, forms }: Question): boolean {
  return languages === undefined && forms.size <= WORDS_OF_ANY_MAX;
}

const WORDS_OF_ANY_MAX = 12;

/** Whether a question has words that others of the store may stand for. The index has looked them up. */
export function needsStandIns(index: OpenIndex, questions: readonly AskedQuestion[]): boolean {
  return questions.some(
    ({ question }) => (question.languages?.length ?? 0) > 0 || unknownOf(index, question).size > 0,
  );
}

function unknownOf(index: OpenIndex, { forms, otherForms }: Question): Set<string> {
  const isUnknown = (form: string) => index.postings(form).slots.length === 0;
  const unknown = [...forms].filter(
    ([form, word]) => isUnknown(form) && (otherForms.get(word) ?? []).every(isUnknown),
  );
  return new Set(unknown.map(([form]) => form));
}

/** The languages of the store that a question of words alone may be in, the most used first. */
function languagesOf(index: OpenIndex, question: Question): readonly string[] {
  if (!isOfAny(question)) return question.languages ?? [];
  const uses = [...tellingWords()].map(([language, words]) => {
    const counts = words.map((word) => index.postings(word).slots.length);
    return {
      language,
      count: counts.filter((count) => count > 0).length > 1 ? Math.max(...counts) : 0,
    };
  });
  return uses
    .filter(({ count }) => count > 0)
    .sort((one, other) => other.count - one.count)
    .flatMap(({ language }) => (language === "danish" ? ["danish", "norwegian"] : [language]));
}

/**
 * The words of the store that stand for words of the questions: other forms of a word in the question's language, its parts
 * or a compound of it; and for a word that no entry has, another spelling, words that begin with a checksum or version, and
 * words that are spelled almost so.
 *
 *     reinigung          gereinigt, reinigt
 *     buromietvertrag    buro and mietvertrag
 *     soehne             söhne
 *     deadbee            deadbeef41
 *     hazlenut           hazelnut
 */
export function* findStandIns(
  index: OpenIndex,
  questions: readonly AskedQuestion[],
  wanted: Wanted,
): Asking<StandIns> {
  if (!needsStandIns(index, questions)) return new Map();
  const candidates = new Map<string, Candidates>();
  const store = new StoreWords(index);
  const unknownWords = new Map<string, string>();
  for (const { text, question } of questions) {
    if (!needsStandIns(index, [{ text, question }])) continue;
    const asked = { text, question, languages: languagesOf(index, question) };
    const unknown = unknownOf(index, question);
    yield* store.read(lettersFor(index, asked, unknown));
    const inCapitals = new Set(capitalsIn(text));
    for (const [form, word] of question.forms) {
      const isUnknown = unknown.has(form);
      if (!isUnknown && asked.languages.length === 0) continue;
      const found = candidatesFor(store, { form, word, isUnknown }, asked, inCapitals.has(word));
      if (isUnknown) unknownWords.set(form, word);
      if (allFormsOf(found).length > 0) candidates.set(form, found);
    }
  }
  if (candidates.size === 0) return new Map();
  const more = [...candidates.values()].flatMap(allFormsOf);
  yield* index.catchUp({ ...wanted, words: [...wanted.words, ...more] });
  const found = new Map(
    [...candidates].flatMap(([form, some]) => {
      const best = bestOf(index, some);
      return best ? [[form, best] as const] : [];
    }),
  );
  return withoutParts(found, unknownWords);
}

/** Where a whole is there in another spelling, its parts are not asked for: neither "wi" nor "fi" of "wi-fi". */
function withoutParts(
  found: Map<string, StandIn>,
  unknownWords: ReadonlyMap<string, string>,
): StandIns {
  for (const [form, { counts }] of found) {
    if (!form.includes("-") || counts < COUNTS.spelling) continue;
    for (const part of form.split("-").map(formOf)) {
      const word = unknownWords.get(part);
      if (word !== undefined)
        found.set(part, { word, forms: [], counts: 0, isNear: false, parts: [] });
    }
  }
  return found;
}

/** A checksum, or a number or version with more behind it. */
const BEGINNING = /^(?:[0-9a-f]{7,}|(?=[a-z]*\d)[a-z0-9]{6,}|v?\d+\.\d[\d.]*)$/;

interface AskedIn extends AskedQuestion {
  readonly languages: readonly string[];
}

/** The letters with which words begin that may stand for those of a question. */
function lettersFor(
  index: OpenIndex,
  { question, languages }: AskedIn,
  unknown: ReadonlySet<string>,
): Set<string> {
  const letters = new Set<string>();
  const add = (letter: string | undefined) => {
    if (letter !== undefined && LETTER.test(letter)) letters.add(letter);
  };
  const isOther = (question.languages?.length ?? 0) > 0;
  const isCompounding = compoundingOf(languages).length > 0 && (isOther || unknown.size > 0);
  for (const [form] of question.forms) {
    if (!isOther && !unknown.has(form)) continue;
    add(form[0]);
    if (unknown.has(form) && editsAllowed(form) > 0) add(form[1]);
    if (unknown.has(form) && isCompounding) for (const letter of form) add(letter);
  }
  // A word may be the end of any other one. In a large store, reading all of them would take too long.
  if (isCompounding && index.passages <= COMPOUND_PASSAGES_MAX) {
    for (const letter of ALPHABET) add(letter);
  }
  return letters;
}

const LETTER = /^\p{L}$/u;
const ALPHABET = "abcdefghijklmnopqrstuvwxyzøæ";
const COMPOUND_PASSAGES_MAX = 20_000;

function allFormsOf(candidates: Candidates): readonly string[] {
  const { forms, compounds, parts, root, near, spellings, beginning } = candidates;
  return [
    ...[forms, compounds, root, spellings].flat(),
    ...parts.flatMap((part) => part.forms),
    ...near.map(({ word }) => word),
    ...(beginning === undefined ? [] : [beginning]),
  ];
}

interface AskedForm {
  readonly form: string;
  readonly word: string;
  readonly isUnknown: boolean;
}

function candidatesFor(
  store: StoreWords,
  { form, word, isUnknown }: AskedForm,
  { question, languages }: AskedIn,
  inCapitals: boolean,
): Candidates {
  const isWord = WORD.test(form);
  const isForeign = languages.length > 0 || question.languages === undefined;
  const needsOthers = isWord && (isForeign || isUnknown);
  const others = needsOthers ? store.beginningWith(beginningOf(form)) : new Set<string>();
  const rootKind = languages.length > 0 ? "told" : isForeign ? "any" : "english";
  const forms = sameStem({ word, form, languages }, others);
  const compounding = isWord ? compoundingOf(languages) : [];
  return {
    word,
    form,
    isUnknown,
    isTold: question.languages !== undefined,
    isForeign,
    otherForms: question.otherForms.get(word) ?? [],
    forms,
    compounds: compounding.length > 0 ? compoundsOf(store, form, compounding) : [],
    parts:
      compounding.length > 0 && isUnknown && forms.length === 0
        ? partsIn(store, form, compounding)
        : [],
    root: isUnknown && isWord ? sameRoot({ word, form }, others, rootKind) : [],
    near: isUnknown && !inCapitals ? nearIn(store, form) : [],
    spellings: isUnknown
      ? [...possibleSpellings(word).map(formOf), ...joined(store, form)].filter(store.mayHave)
      : [],
    beginning: isUnknown && BEGINNING.test(word) ? `${word}*` : undefined,
    isEnglish: question.isEnglish,
  };
}

/** The word with a hyphen in place of none, or none in place of one: `wifi`, `wi-fi`. */
function joined(store: StoreWords, form: string): string[] {
  if (form.includes("-")) return [formOf(form.replaceAll("-", ""))];
  return /^[\p{L}\d]{3,40}$/u.test(form) ? store.hyphenated(form) : [];
}

const WORD = /^\p{L}{3,40}$/u;
const COMPOUND_FROM = 4;

/** Compounds that begin or end with a word, or with another form of it. */
function compoundsOf(store: StoreWords, form: string, languages: readonly string[]): string[] {
  if (form.length < COMPOUND_FROM) return [];
  const isForm = (end: string) =>
    end === form || sameStem({ word: form, form, languages }, [end]).length > 0;
  const beginning = shortestForm(form, isForm);
  const behind = [...store.beginningWith(beginning)].filter((other) =>
    beginsCompound(other, other.startsWith(form) ? form : beginning),
  );
  return [...behind, ...endingWith(beginning, store.containing(beginning), isForm)].slice(
    0,
    COMPOUNDS_MAX,
  );
}

const COMPOUNDS_MAX = 32;

function partsIn(
  store: StoreWords,
  form: string,
  languages: readonly string[],
): readonly CompoundPart[] {
  const known = new Map<string, readonly string[]>();
  return partsOf(form, (part) => {
    const before = known.get(part);
    if (before) return before;
    const own = formOf(part);
    const others = store.beginningWith(beginningOf(part));
    const forms = [
      ...[part, own].filter((one) => others.has(one)),
      ...sameStem({ word: part, form: own, languages }, others),
    ];
    const found = [...new Set(forms)];
    known.set(part, found);
    return found;
  });
}

function nearIn(store: StoreWords, form: string): NearWord[] {
  if (editsAllowed(form) === 0) return [];
  const found = new Map<string, NearWord>();
  // The stem of "proxy" is "proxi", and that of "prxoy" is itself.
  const asked = form.endsWith("y") ? [form, `${form.slice(0, -1)}i`] : [form];
  for (const letter of new Set([form[0] as string, form[1] as string])) {
    for (const list of store.listsOf(letter)) {
      for (const near of asked.flatMap((one) => misspelled(one, list))) {
        const known = found.get(near.word);
        if (isOtherWord(form, near.word) || editsAllowed(near.word) === 0) continue;
        if (!known || known.edits > near.edits) {
          found.set(near.word, near);
        }
      }
    }
  }
  const all = [...found.values()].sort((one, other) => one.edits - other.edits);
  return all.filter(({ edits }) => edits === all[0]?.edits);
}

/** Words of a store by how they begin, read from its index. */
class StoreWords {
  readonly #index: OpenIndex;
  readonly #lists = new Map<string, readonly string[]>();

  constructor(index: OpenIndex) {
    this.#index = index;
  }

  *read(letters: Iterable<string>): Asking<void> {
    for (const letter of new Set(letters)) {
      if (!this.#lists.has(letter))
        this.#lists.set(letter, yield* this.#index.wordsBeginningWith(letter));
    }
  }

  /** One word a line, for each segment of the index; none of letters that were not read. */
  listsOf(letter: string): readonly string[] {
    return this.#lists.get(letter) ?? [];
  }

  /** Whether the store may have a word: words of letters that were not read are not known. */
  readonly mayHave = (word: string): boolean =>
    !this.#lists.has(word.slice(0, 1)) || this.beginningWith(word).has(word);

  /** Words that begin so, each once, at most `BEGINNING_MAX` of a segment. */
  beginningWith(beginning: string): Set<string> {
    const found = new Set<string>();
    for (const list of this.listsOf(beginning.slice(0, 1))) {
      let at = list.startsWith(beginning) ? 0 : list.indexOf(`\n${beginning}`) + 1;
      if (at === 0 && !list.startsWith(beginning)) continue;
      for (let count = 0; count < BEGINNING_MAX && list.startsWith(beginning, at); count += 1) {
        const end = lineEnd(list, at);
        found.add(list.slice(at, end));
        at = end + 1;
      }
    }
    return found;
  }

  /** Words that are a word but for their hyphens. */
  hyphenated(word: string): string[] {
    const found = new Set<string>();
    for (const list of this.listsOf(word.slice(0, 1))) {
      for (let at = list.indexOf("-"); at >= 0; at = list.indexOf("-", at + 1)) {
        const start = list.lastIndexOf("\n", at) + 1;
        // Few words have the same letters before their first hyphen.
        if (!word.startsWith(list.slice(start, at).replaceAll("-", ""))) continue;
        const other = list.slice(start, lineEnd(list, at));
        if (other.replaceAll("-", "") === word) found.add(other);
      }
    }
    return [...found];
  }

  /** Words of the letters that were read in which something stands behind their beginning. */
  containing(part: string): Set<string> {
    const found = new Set<string>();
    for (const lists of this.#lists.values()) {
      for (const list of lists) {
        for (let at = list.indexOf(part); at >= 0; at = list.indexOf(part, at + 1)) {
          const start = list.lastIndexOf("\n", at) + 1;
          if (start < at) found.add(list.slice(start, lineEnd(list, at)));
          if (found.size === CONTAINING_MAX) return found;
        }
      }
    }
    return found;
  }
}

const BEGINNING_MAX = 2000;
const CONTAINING_MAX = 1000;

function lineEnd(list: string, from: number): number {
  const end = list.indexOf("\n", from);
  return end < 0 ? list.length : end;
}
