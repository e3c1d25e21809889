import { MONTHS } from "../text/time/time-words.ts";
import { APPROXIMATE, plainNumber, TEXT_CHARACTERS_MAX } from "./clause-facts.ts";
import { isFunctionWord } from "./content-words.ts";
import { twoEnds } from "./cut-text.ts";

/**
 * A summary whose values stand beside the things that have them on record. It knows no language: a piece of a sentence is
 * a set of words with a value, a number, a month or a name.
 *
 *     record    The north hall has 34 crates, the south hall 81. The lease ends on 14 March.
 *     summary   The north hall has 81 crates, the south hall 34. The lease ends on 14 May.
 *     becomes   The north hall has 34 crates, the south hall 81. The lease ends on 14 March.
 *
 * Two values are exchanged only if each stands beside the other's words on record, and never beside its own. A value
 * that is nowhere on record gives way only to the one that stands between the same words.
 */
export function withValuesBack(
  summary: string,
  texts: readonly SaidText[],
): { readonly text: string; readonly changed: number } {
  const told = piecesIn(summary).filter(({ values }) => values.length > 0);
  if (told.length === 0) return { text: summary, changed: 0 };
  const record = new ValuesOnRecord(texts);
  const edits = [...exchanges(told, record), ...madeUp(told, record)];
  let text = "";
  let from = 0;
  for (const { start, end, instead } of edits.toSorted((one, other) => one.start - other.start)) {
    if (start < from) continue;
    text += summary.slice(from, start) + instead;
    from = end;
  }
  return { text: text + summary.slice(from), changed: edits.length };
}

/** A text of the record, with the name of the person who said it. */
export interface SaidText {
  readonly text: string;
  readonly by?: string | undefined;
  /** Read by a tool. It may have any number beside any word. */
  readonly isRead: boolean;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly instead: string;
}

type Kind = "number" | "time" | "month" | "name";

interface Value {
  readonly kind: Kind;
  /** The words of a name, or the number. */
  readonly keys: readonly string[];
  readonly start: number;
  readonly end: number;
  readonly shown: string;
  /** The word behind a number: its unit, or what it counts. */
  readonly unit: string;
  /** The word before a number that it belongs to: `port there is 4310`. */
  readonly before: string;
  readonly isApproximate: boolean;
}

/** A part of a sentence that says one thing. */
interface Piece {
  readonly keys: ReadonlySet<string>;
  readonly values: readonly Value[];
  /** A joining word stands behind it: what comes next may belong to its value. */
  readonly isJoined: boolean;
  /** The words of the name of who said it. */
  readonly speaker: ReadonlySet<string>;
  /** The place of its text among the texts of the record. */
  readonly at: number;
}

/** Pieces of a summary that are compared with the next ones. */
const NEAR = 3;

/** The pieces of the record that are compared with one of the summary. */
const LOOKED_AT = 60;

/** More values in a piece are a list. */
const VALUES_MAX = 4;

class ValuesOnRecord {
  readonly #places = new Map<string, Piece[]>();
  /** The numbers of each text. */
  readonly #numbers: ReadonlySet<number>[] = [];
  readonly #read = new Set<number>();
  /** The numbers of the middle of long texts, too. */
  readonly #all = new Set<string>();

  constructor(texts: readonly SaidText[]) {
    texts.forEach(({ text: whole, by = "", isRead }, at) => {
      for (const [number] of whole.matchAll(NUMBER)) this.#all.add(keyOf(number));
      const text = twoEnds(whole, TEXT_CHARACTERS_MAX);
      if (isRead) this.#read.add(at);
      const speaker = pieceOf(by, 0, by.length, at).keys;
      const pieces = piecesIn(text, at, speaker);
      this.#numbers.push(new Set(pieces.flatMap(numbersOf)));
      for (const piece of pieces) {
        for (const key of new Set([...piece.keys, ...speaker])) {
          const known = this.#places.get(key);
          if (known) known.push(piece);
          else this.#places.set(key, [piece]);
        }
      }
    });
  }

  has(key: string): boolean {
    return this.#places.has(key) || this.#all.has(key);
  }

  isRead(at: number): boolean {
    return this.#read.has(at);
  }

  /** Whether a number was reckoned from two others of a text: "67 in both". */
  isReckoned(number: number, at: number): boolean {
    const known = this.#numbers[at] ?? new Set();
    return [...known].some((one) => known.has(number - one) || known.has(number + one));
  }

  /** The pieces with all keys; none where each key is so frequent that it may be about anything. */
  with(keys: readonly string[]): readonly Piece[] {
    const lists = keys.map((key) => this.#places.get(key) ?? []);
    if (lists.length === 0) return [];
    const rarest = lists.reduce((best, list) => (list.length < best.length ? list : best));
    if (rarest.length > LOOKED_AT) return [];
    return rarest.filter((piece) => keys.every((key) => isOf(piece, key)));
  }
}

function exchanges(told: readonly Piece[], record: ValuesOnRecord): readonly Edit[] {
  const done = new Set<Piece>();
  return told.flatMap((one, at) =>
    told.slice(at + 1, at + 1 + NEAR).flatMap((other): readonly Edit[] => {
      if (done.has(one) || done.has(other)) return [];
      for (const value of comparable(one)) {
        for (const second of comparable(other)) {
          if (value.kind !== second.kind || !isExchanged(one, value, other, second, record))
            continue;
          done.add(one).add(other);
          return [
            { start: value.start, end: value.end, instead: second.shown },
            { start: second.start, end: second.end, instead: value.shown },
          ];
        }
      }
      return [];
    }),
  );
}

/** The values of a piece that may have been exchanged: its number, or names where there is none. */
function comparable({ values }: Piece): readonly Value[] {
  const numbers = values.filter(({ kind }) => kind === "number" || kind === "time");
  if (numbers.length > 0) return numbers.length === 1 ? numbers : [];
  return values.filter(({ kind }) => kind === "name").slice(0, VALUES_MAX);
}

function isExchanged(
  one: Piece,
  value: Value,
  other: Piece,
  second: Value,
  record: ValuesOnRecord,
): boolean {
  const [here, there] = [record.with(value.keys), record.with(second.keys)];
  // A word that the record has beside both tells nothing.
  const tells = (word: string) => ![here, there].every((pieces) => pieces.some(isWith([word])));
  const own = labels(one, other, value, second).filter(tells);
  const others = labels(other, one, value, second).filter(tells);
  if (here.some(isWith(own)) || there.some(isWith(others))) return false;
  const turned = here.filter(isWith(others));
  return there.filter(isWith(own)).some((piece) => turned.some((one) => areTogether(one, piece)));
}

function isWith(words: readonly string[]): (piece: Piece) => boolean {
  return (piece) => words.some((word) => isOf(piece, word));
}

/** Whether one text says both, or two people said each one thing. */
function areTogether(one: Piece, other: Piece): boolean {
  return one.at === other.at || (one.speaker.size > 0 && other.speaker.size > 0);
}

/** The words of a piece that the other one lacks, without the two values. */
function labels(piece: Piece, other: Piece, ...values: readonly Value[]): readonly string[] {
  const taken = new Set(values.flatMap(({ keys }) => keys));
  return [...piece.keys].filter((key) => !other.keys.has(key) && !taken.has(key));
}

/** Words that two pieces share, at least, if they are about the same. */
const SHARED_MIN = 2;

function madeUp(told: readonly Piece[], record: ValuesOnRecord): readonly Edit[] {
  return told.flatMap((piece) =>
    piece.values.flatMap((value): readonly Edit[] => {
      if (value.kind === "name" || value.isApproximate) return [];
      if (value.keys.some((key) => record.has(key))) return [];
      const meant = insteadOf(value, piece, record);
      return meant ? [{ start: value.start, end: value.end, instead: meant.shown }] : [];
    }),
  );
}

/** The value that a made-up one stands for: with its digits beside the same word, or alone between the same words. */
function insteadOf(value: Value, piece: Piece, record: ValuesOnRecord): Value | undefined {
  const beside = [value.unit, value.before].filter(isContent);
  const swapped = beside
    .flatMap((key) => record.with([key]))
    .filter(({ at }) => !record.isRead(at))
    .flatMap(({ values }) => values)
    .filter((one) => hasSameDigits(one, value) && beside.some((key) => isBeside(one, key)));
  if (swapped.length > 0) return onlyOne(swapped);
  if (piece.isJoined) return undefined;
  const known = [...piece.keys].filter((key) => isContent(key) && record.has(key));
  if (known.filter((key) => !isNumber(key)).length < SHARED_MIN) return undefined;
  const same = record
    .with(known)
    .filter(({ keys }) => [...keys].every((key) => !isWord(key) || piece.keys.has(key)))
    .filter(({ at }) => !record.isReckoned(Number(value.keys[0]), at));
  const others = same.map(({ values }) =>
    values.filter(
      ({ kind, keys, unit }) =>
        kind === value.kind && unit === value.unit && !keys.some((key) => piece.keys.has(key)),
    ),
  );
  if (others.some(({ length }) => length !== 1)) return undefined;
  const one = onlyOne(others.flat());
  return one && !isSameValue(one, value) ? one : undefined;
}

/** The value of all, if it is one. */
function onlyOne(values: readonly Value[]): Value | undefined {
  const last = values.at(-1);
  return values.every(({ keys }) => keys[0] === last?.keys[0]) ? last : undefined;
}

function isBeside({ unit, before }: Value, key: string): boolean {
  return unit === key || before === key;
}

/** Smaller numbers are often counted by who writes. */
const COUNTED_MIN = 10;

function hasSameDigits(one: Value, other: Value): boolean {
  const digits = ({ kind, keys: [key = ""] }: Value) =>
    kind === "number" && Number(key) >= COUNTED_MIN ? [...key].sort().join("") : "";
  return digits(one) !== "" && digits(one) === digits(other);
}

/** "4:30" and "16:30", "12.49" and "12": the same, written or rounded in another way. */
function isSameValue(one: Value, other: Value): boolean {
  const [first = "", second = ""] = [one.keys[0], other.keys[0]];
  if (one.kind === "time") {
    const halfDays = ([hours = "", ...rest]: readonly string[]) =>
      [Number(hours) % 12, ...rest].join(":");
    return halfDays(first.split(":")) === halfDays(second.split(":"));
  }
  return one.kind === "number" && Math.round(Number(first)) === Math.round(Number(second));
}

function isContent(key: string): boolean {
  return isNumber(key) || isMonth(key) || key.length >= KEY_LETTERS;
}

function isWord(key: string): boolean {
  return isContent(key) && !isNumber(key) && !isMonth(key);
}

function isNumber(key: string): boolean {
  return /^\d/.test(key);
}

function numbersOf({ values }: Piece): readonly number[] {
  return values.flatMap(({ kind, keys }) => (kind === "number" ? [Number(keys[0])] : []));
}

function isMonth(key: string): boolean {
  return key.startsWith(MONTH_MARK);
}

/** Forms of a word are the same when these first letters are: `fails`, `failed`. */
const KEY_LETTERS = 4;
const LETTERS_MIN = 3;

const MONTH_MARK = "month ";

/** Marks, and words that join two parts of a sentence, each of which says something. */
const PIECE_END =
  /(?:(?<!(?<!\p{L})(?:Dr|Mrs?|Ms|Prof|M|St|Mme|Mlle|Sra?|Hr|Fr|Nr|No))\.|[!?;,|])(?=\s|$)|[,;](?=["'{[])|[\n\t。、\uff01\uff0c\uff1b\uff1f]|\s(?=[\p{L}_.-]{1,40}=\S)|\s(?:and|but|while|und|aber|et|mais|y|pero|e|og|och|и|а)(?=\s)/gu;
const JOINED = /^\s\p{L}/u;
const NUMBER = /\d(?:[.,:]?\d)*/g;
const TOKEN =
  /\d(?:[.,:]?\d)*|(?:(?:Dr|Mrs?|Ms|Prof|Mme|Mlle|Sra?|Hr|Fr)\. )?[\p{L}\p{M}][\p{L}\p{M}\p{N}_'’-]*/gu;

function isOf({ keys, speaker }: Piece, key: string): boolean {
  return keys.has(key) || speaker.has(key);
}

const NO_WORDS: ReadonlySet<string> = new Set();

function piecesIn(text: string, at = 0, speaker = NO_WORDS): Piece[] {
  const pieces: Piece[] = [];
  let start = 0;
  const add = (end: number) => {
    const piece = pieceOf(text, start, end, at, speaker);
    if (piece.keys.size > 0) pieces.push(piece);
  };
  for (const { index, 0: mark } of text.matchAll(PIECE_END)) {
    add(index);
    start = index + mark.length;
  }
  add(text.length);
  return pieces;
}

function pieceOf(text: string, from: number, to: number, at: number, speaker = NO_WORDS): Piece {
  const keys = new Set<string>();
  const values: Value[] = [];
  const found = [...text.slice(from, to).matchAll(TOKEN)];
  found.forEach(({ 0: shown, index }, place) => {
    const key = keyOf(shown);
    if (key === "") return;
    keys.add(key);
    const start = from + index;
    const end = start + shown.length;
    const last = values.at(-1);
    const kind = kindOf(shown, key);
    if (kind === undefined) return;
    if (kind === "name" && last?.kind === "name" && text.slice(last.end, start) === " ") {
      const name = { keys: [...last.keys, key], end, shown: text.slice(last.start, end) };
      values[values.length - 1] = { ...last, ...name };
      return;
    }
    const unit = keyOf(found[place + 1]?.[0] ?? "");
    const earlier = found.slice(Math.max(0, place - BEFORE_WORDS), place).map(([word]) => word);
    const before = earlier.map(keyOf).findLast(isWord) ?? "";
    const isApproximate = APPROXIMATE.test(earlier.at(-1) ?? "");
    values.push({ kind, keys: [key], start, end, shown, unit, before, isApproximate });
  });
  return { keys, values, speaker, at, isJoined: JOINED.test(text.slice(to, to + 12)) };
}

/** Words between a number and what it belongs to. */
const BEFORE_WORDS = 4;

function keyOf(shown: string): string {
  if (/^\d/.test(shown)) return shown.includes(":") ? shown : plainNumber(shown);
  const word = shown.toLowerCase().replace(/^\p{L}{1,4}\. /u, "");
  const month = MONTHS.get(word);
  if (month !== undefined && /^\p{Lu}|^..../u.test(shown)) return `${MONTH_MARK}${month}`;
  if (word.length < LETTERS_MIN) return "";
  return word.slice(0, isFunctionWord(word) ? LETTERS_MIN : KEY_LETTERS);
}

function kindOf(shown: string, key: string): Kind | undefined {
  if (isNumber(key)) return key.includes(":") ? "time" : "number";
  if (isMonth(key)) return "month";
  return /^\p{Lu}/u.test(shown) ? "name" : undefined;
}
