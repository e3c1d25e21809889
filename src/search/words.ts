import { stem as stemEnglish } from "porter2";
import { isAscii, NOTHING, unicodePattern } from "../core/unicode-pattern.ts";
import { baseForm } from "./irregular-forms.ts";

/**
 * The words of a text, in its order, as the memory index keeps them.
 *
 *     Caroline's café        caroline cafe
 *     she went               she go
 *     getUserName()          getusername get user name
 *     src/core/turn_id.ts    src core turn_id.ts turn id ts
 *     1,000 at 10:30         1000 at 10 30
 *     東京都                  東京 京都 都
 *     🎉                     🎉
 *
 * A compound gives the whole and its parts. Scripts without spaces between words give pairs of
 * characters. The last character also stands alone, so that each character begins some word.
 *
 * Stores keep these words. Raise `INDEX_VERSION` when you change what this returns, and stores
 * are indexed again.
 */
export function words(text: string): string[] {
  return collect(text, true);
}

/** Whether a text has any words. One letter is enough to know, and nearly every text has one. */
export function hasWords(text: string): boolean {
  return /[a-z]/.test(text) || words(text).length > 0;
}

/** The words of a question. The last character of a run without spaces is left out: its pair has it. */
export function askedWords(text: string): string[] {
  return collect(text, false);
}

/** Whether a word is one character of a script without spaces. Look it up as the beginning of words. */
export function isBeginning(word: string): boolean {
  return word.length <= 2 && [...word].length === 1 && word.replace(UNSPACED(word), "") === "";
}

/** Longer words are cut. They are checksums and the like, whose beginnings differ. */
const WORD_LENGTH_MAX = 100;

/** What a word and its parts look like. Tried where one begins. */
const CHUNK = unicodePattern(/[A-Za-z0-9]+(?:[._'-][A-Za-z0-9]+|,\d{3}(?!\d))*/y, {
  source: String.raw`[\p{L}\p{N}\p{M}]+(?:[._'’-][\p{L}\p{N}\p{M}]+|,\p{Nd}{3}(?!\p{N}))*|\p{Extended_Pictographic}`,
  flags: "uy",
});
/** The parts of an English identifier: get User Name, HTTP Server. A run of capitals is read from its beginning only. */
const ENGLISH_PART =
  /(?<![A-Z])[A-Z]+(?=[A-Z][a-z])|(?<![A-Z])[A-Z]*[a-z0-9]+|[A-Z][a-z0-9]+|[A-Z]+/g;
/** What may stand between the parts of a word. */
const SEPARATOR = /[,._'’-]/;
/** Where two parts of an identifier meet: getUser|Name, HTTP|Server. */
const HUMP = unicodePattern(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/, {
  source: String.raw`(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})`,
  flags: "u",
});
/** English endings after an apostrophe, as in it's, I'm, we'll. */
const CLITICS: ReadonlySet<string> = new Set(["s", "t", "d", "m", "ll", "re", "ve"]);
const UNSPACED = unicodePattern(NOTHING, {
  source: String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+`,
  flags: "gu",
});

/** Characters that folding adds beside letters: ㈠ becomes (一), ½ becomes 1⁄2. */
const FOLDED_IN = unicodePattern(/[^A-Za-z0-9._-]/g, {
  source: String.raw`[^\p{L}\p{N}\p{M}\p{Extended_Pictographic}._-]`,
  flags: "gu",
});

/** What a UTF-16 unit is. Those that are not ASCII are `FOREIGN`. */
const OTHER = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 4;
const FOREIGN = 8;
const KIND = new Uint8Array(0x10000).fill(FOREIGN, 128);
for (let code = 0; code < 128; code += 1) {
  const character = String.fromCharCode(code);
  if (/[a-z]/.test(character)) KIND[code] = LOWER;
  else if (/[A-Z]/.test(character)) KIND[code] = UPPER;
  else KIND[code] = /\d/.test(character) ? DIGIT : OTHER;
}

function collect(text: string, keepsLast: boolean): string[] {
  const found: string[] = [];
  let chunkPattern: RegExp | undefined;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    const first = KIND[code] as number;
    if (first === OTHER) {
      at += 1;
      continue;
    }
    let end = at + 1;
    let rest = OTHER;
    let hash = hashWith(0, code);
    for (; end < text.length; end += 1) {
      const next = text.charCodeAt(end);
      const kind = KIND[next] as number;
      if (kind === OTHER) break;
      rest |= kind;
      if (kind === FOREIGN) break;
      hash = hashWith(hash, next);
    }
    if (isPlain(first, rest) && !goesOn(text, end)) {
      found.push(plainWord(text, at, end, hash));
      at = end;
      continue;
    }
    chunkPattern ??= CHUNK(text);
    chunkPattern.lastIndex = at;
    const chunk = chunkPattern.exec(text)?.[0];
    if (chunk === undefined) at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
    else {
      for (const word of compoundWords(chunk, keepsLast)) found.push(word);
      at += chunk.length;
    }
  }
  return found;
}

/** Whether letters or digits are one part of a word: `word`, `Word`, `WORD`, `42`. */
function isPlain(first: number, rest: number): boolean {
  if (rest === OTHER) return first !== FOREIGN;
  return rest === first ? first !== FOREIGN : first === UPPER && rest === LOWER;
}

/** Whether a word may go on behind letters and digits that end here, as in `it's` and `1,000`. */
function goesOn(text: string, end: number): boolean {
  return JOINS[text.charCodeAt(end)] === 1 && KIND[text.charCodeAt(end + 1)] !== OTHER;
}

const JOINS = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(/[._',-]/.test(String.fromCharCode(code))),
);

/**
 * Texts repeat their words, so short ones are kept, each at the place of its hash until another one takes it.
 * In V8, a part of up to 12 characters is a copy. A longer one would keep its whole text in memory.
 */
const KEPT = { characters: 12, places: 1 << 14 } as const;
const keptParts: (string | undefined)[] = new Array(KEPT.places);
const keptWords: string[] = new Array(KEPT.places);

/** The word of the letters or digits between two places of a text. */
function plainWord(text: string, start: number, end: number, hash: number): string {
  const place = hash & (KEPT.places - 1);
  const known = keptParts[place];
  if (known?.length === end - start && text.startsWith(known, start)) {
    return keptWords[place] as string;
  }
  const part = text.slice(start, end);
  const word = baseForm(cut(part.toLowerCase()));
  if (part.length <= KEPT.characters) {
    keptParts[place] = part;
    keptWords[place] = word;
  }
  return word;
}

function wordOfPart(part: string): string {
  let hash = 0;
  for (let at = 0; at < part.length; at += 1) hash = hashWith(hash, part.charCodeAt(at));
  return plainWord(part, 0, part.length, hash);
}

function hashWith(hash: number, code: number): number {
  return (Math.imul(hash, 31) + code) | 0;
}

const COMPOUNDS = new Map<string, readonly string[]>();

function compoundWords(chunk: string, keepsLast: boolean): readonly string[] {
  const known = keepsLast ? COMPOUNDS.get(chunk) : undefined;
  if (known) return known;
  const found: string[] = [];
  if (isAscii(chunk)) addEnglishCompound(chunk, found);
  else addCompound(chunk, keepsLast, found);
  return keepsLast ? keep(COMPOUNDS, chunk, found) : found;
}

function addEnglishCompound(chunk: string, found: string[]): void {
  const letters = chunk.includes(",") ? chunk.replaceAll(",", "") : chunk;
  const quoted = letters.includes("'");
  const plain = quoted ? letters.split(/[._-]/).map(withoutClitic).join(" ") : letters;
  const parts = plain.match(ENGLISH_PART) ?? [];
  if (parts.length > 1 && !quoted) found.push(cut(letters.toLowerCase()));
  for (const part of parts) found.push(wordOfPart(part));
}

function addCompound(chunk: string, keepsLast: boolean, found: string[]): void {
  const pieces = SEPARATOR.test(chunk) ? chunk.replaceAll(",", "").split(/[._-]/) : [chunk];
  const read = pieces.map((piece) => readPiece(piece, keepsLast));
  const hasParts = read.length > 1 || read.some(({ parts }) => parts > 1);
  if (hasParts && !/['’]/.test(chunk)) found.push(cut(lettersOf(chunk, "")));
  for (const { words } of read) for (const word of words) found.push(word);
}

/** What stands between two separators of a word. */
interface Piece {
  readonly words: readonly string[];
  /** How many parts it has by its humps. */
  readonly parts: number;
}

const PIECES = new Map<string, Piece>();

function readPiece(piece: string, keepsLast: boolean): Piece {
  const known = keepsLast ? PIECES.get(piece) : undefined;
  if (known) return known;
  const parts = withoutClitic(piece)
    .split(/['’]/)
    .flatMap((part) => part.split(HUMP(part)));
  const words: string[] = [];
  for (const part of parts) addPart(lettersOf(part, " "), keepsLast, words);
  const read = { words, parts: parts.length };
  return keepsLast ? keep(PIECES, piece, read) : read;
}

const STEMS = new Map<string, string>();

/** Adds to what is kept, which begins again when it has grown too large. */
function keep<Value>(known: Map<string, Value>, key: string, value: Value): Value {
  if (key.length > KEPT.characters) return value;
  if (known.size >= KEPT.places) known.clear();
  known.set(key, value);
  return value;
}

function addPart(part: string, keepsLast: boolean, found: string[]): void {
  const spaced = part.replace(UNSPACED(part), (run) => {
    let before = "";
    for (const character of run) {
      if (before !== "") found.push(before + character);
      before = character;
    }
    if (keepsLast || before === run) found.push(before);
    return " ";
  });
  for (const word of spaced.split(" ")) if (word !== "") found.push(baseForm(cut(word)));
}

/** The folded text, with `between` in place of everything that is not a letter. */
function lettersOf(text: string, between: string): string {
  const folded = foldText(text);
  return folded.replace(FOLDED_IN(folded), between);
}

/** "Caroline's" becomes "Caroline", "we'll" becomes "we". "don't" becomes the stop word "dont". */
function withoutClitic(part: string): string {
  const size = [2, 3].find((length) => "'’".includes(part.at(-length) ?? " "));
  const ending = size === undefined ? "" : part.slice(1 - size).toLowerCase();
  if (size === undefined || !CLITICS.has(ending)) return part;
  return part.slice(0, -size) + (ending === "t" ? "t" : "");
}

/** A word has at most as many characters as UTF-16 units, and at least half as many. */
function cut(word: string): string {
  if (word.length <= WORD_LENGTH_MAX) return word;
  return [...word.slice(0, 2 * WORD_LENGTH_MAX)].slice(0, WORD_LENGTH_MAX).join("");
}

/**
 * The form of a word in the index: without its English ending, so that "painted" finds
 * "painting". Other words stay as they are.
 */
export function stem(word: string): string {
  if (KIND[word.charCodeAt(0)] !== LOWER) return word;
  return STEMS.get(word) ?? keep(STEMS, word, ENGLISH.test(word) ? stemEnglish(word) : word);
}

const ENGLISH = /^[a-z]+$/;

/**
 * The form in which texts are compared: in lower case, with plain characters in place of
 * compatibility characters, and without marks that people leave out when they type (accents,
 * Arabic and Hebrew vowels).
 */
export function foldText(text: string): string {
  if (isAscii(text)) return text.toLowerCase();
  // NFKD takes Hangul and kana apart. NFKC puts them together again.
  return text.toLowerCase().normalize("NFKD").replace(MARKS, "").normalize("NFKC").toLowerCase();
}

/** Not all of \p{M}: in Thai or Devanagari a mark is a vowel, and without it the word is another one. */
const MARKS = /[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u0652]+/gu;
