import { stem as stemEnglish } from "porter2";
import { CharacterKinds, sizeAt } from "../core/character-kinds.ts";
import { isAscii, unicodePattern } from "../core/unicode-pattern.ts";
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
  return collect(text, { keepsLast: true, stems: false });
}

/** The same words, each by its `stem`. */
export function stemmedWords(text: string): string[] {
  return collect(text, { keepsLast: true, stems: true });
}

/** Whether a text has any words. One letter is enough to know, and nearly every text has one. */
export function hasWords(text: string): boolean {
  return /[a-z]/.test(text) || words(text).length > 0;
}

/** The words of a question. The last character of a run without spaces is left out: its pair has it. */
export function askedWords(text: string): string[] {
  return collect(text, { keepsLast: false, stems: false });
}

/** Whether a word is one character of a script without spaces. Look it up as the beginning of words. */
export function isBeginning(word: string): boolean {
  return word !== "" && word.length === sizeAt(word, 0) && KINDS.at(word, 0) === UNSPACED;
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
/** English endings after an apostrophe, as in it's, I'm, we'll. */
const CLITICS: ReadonlySet<string> = new Set(["s", "t", "d", "m", "ll", "re", "ve"]);

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

interface Collecting {
  /** Whether the last character of a run without spaces is a word of its own. */
  readonly keepsLast: boolean;
  /** Whether the words are given by their stems. */
  readonly stems: boolean;
}

function collect(text: string, { keepsLast, stems }: Collecting): string[] {
  const found: string[] = [];
  let chunkPattern: RegExp | undefined;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    const first = KIND[code] as number;
    if (first === OTHER) {
      at += 1;
      continue;
    }
    if (first === FOREIGN && KINDS.at(text, at) === SIGN) {
      at += sizeAt(text, at);
      continue;
    }
    let end = at + 1;
    let rest = OTHER;
    let hash = hashWith(0, code);
    for (; end < text.length; end += 1) {
      const next = text.charCodeAt(end);
      const kind = KIND[next] as number;
      if (kind === OTHER) break;
      if (kind === FOREIGN) {
        if (next === APOSTROPHE || KINDS.at(text, end) !== SIGN) rest |= FOREIGN;
        break;
      }
      rest |= kind;
      hash = hashWith(hash, next);
    }
    if (isPlain(first, rest) && !goesOn(text, end)) {
      found.push(stems ? plainStem(text, at, end, hash) : plainWord(text, at, end, hash));
      at = end;
      continue;
    }
    chunkPattern ??= CHUNK(text);
    chunkPattern.lastIndex = at;
    const chunk = chunkPattern.exec(text)?.[0];
    if (chunk === undefined) at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
    else {
      const before = found.length;
      addChunk(chunk, keepsLast, found);
      at += chunk.length;
      if (!stems) continue;
      for (let word = before; word < found.length; word += 1) {
        found[word] = stem(found[word] as string);
      }
    }
  }
  return found;
}

/** The foreign sign that may stand inside a word. */
const APOSTROPHE = "’".charCodeAt(0);

/** Whether letters or digits are one part of a word: `word`, `Word`, `WORD`, `42`. */
function isPlain(first: number, rest: number): boolean {
  if (rest === OTHER) return first !== FOREIGN;
  return rest === first ? first !== FOREIGN : first === UPPER && rest === LOWER;
}

/** Whether a word may go on behind letters and digits that end here, as in `it's` and `1,000`. */
function goesOn(text: string, end: number): boolean {
  // One look behind the end of a text would make all looks slow.
  if (end + 1 >= text.length) return false;
  const joins = JOINS[text.charCodeAt(end)] as number;
  return joins !== 0 && (joins & (KIND[text.charCodeAt(end + 1)] as number)) !== 0;
}

/** What may follow a sign inside a word. */
const JOINS = Uint8Array.from({ length: 0x10000 }, (_, code) => {
  const sign = String.fromCharCode(code);
  if (sign === ",") return DIGIT | FOREIGN;
  return /[._'-]/.test(sign) ? LOWER | UPPER | DIGIT | FOREIGN : 0;
});

/**
 * Texts repeat their words, so short ones are kept, each at the place of its hash until another one takes it.
 * In V8, a part of up to 12 characters is a copy. A longer one would keep its whole text in memory.
 */
const KEPT = { characters: 12, places: 1 << 16 } as const;
const keptHashes = new Int32Array(KEPT.places);
const keptParts: string[] = new Array(KEPT.places).fill("");
const keptWords: string[] = new Array(KEPT.places).fill("");
const keptStems: string[] = new Array(KEPT.places).fill("");

/** The word of the letters or digits between two places of a text. */
function plainWord(text: string, start: number, end: number, hash: number): string {
  const place = placeOf(hash);
  if (isKept(place, text, start, end, hash)) return keptWords[place] as string;
  const part = text.slice(start, end);
  const word = baseForm(cut(part.toLowerCase()));
  if (part.length <= KEPT.characters) {
    keptHashes[place] = hash;
    keptParts[place] = part;
    keptWords[place] = word;
    keptStems[place] = "";
  }
  return word;
}

/** The stem of that word. */
function plainStem(text: string, start: number, end: number, hash: number): string {
  const place = placeOf(hash);
  if (isKept(place, text, start, end, hash)) {
    const known = keptStems[place] as string;
    if (known !== "") return known;
  }
  const found = stem(plainWord(text, start, end, hash));
  if (end - start <= KEPT.characters) keptStems[place] = found;
  return found;
}

function placeOf(hash: number): number {
  return (hash ^ (hash >>> 16)) & (KEPT.places - 1);
}

function isKept(place: number, text: string, start: number, end: number, hash: number): boolean {
  if (keptHashes[place] !== hash) return false;
  const known = keptParts[place] as string;
  return known.length === end - start && text.startsWith(known, start);
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

function addChunk(chunk: string, keepsLast: boolean, found: string[]): void {
  // The words of a long chunk are not kept, so they need no list of their own.
  if (!keepsLast || chunk.length > KEPT.characters) addCompound(chunk, keepsLast, found);
  else for (const word of COMPOUNDS.get(chunk) ?? compoundOf(chunk)) found.push(word);
}

function compoundOf(chunk: string): readonly string[] {
  const found: string[] = [];
  addCompound(chunk, true, found);
  return keep(COMPOUNDS, chunk, found);
}

function addCompound(chunk: string, keepsLast: boolean, found: string[]): void {
  if (isAscii(chunk)) addEnglishCompound(chunk, found);
  else addForeignCompound(chunk, keepsLast, found);
}

function addEnglishCompound(chunk: string, found: string[]): void {
  const letters = chunk.includes(",") ? chunk.replaceAll(",", "") : chunk;
  const quoted = letters.includes("'");
  const plain = quoted ? letters.split(/[._-]/).map(withoutClitic).join(" ") : letters;
  const parts = plain.match(ENGLISH_PART) ?? [];
  if (parts.length > 1 && !quoted) found.push(cut(letters.toLowerCase()));
  for (const part of parts) found.push(wordOfPart(part));
}

function addForeignCompound(chunk: string, keepsLast: boolean, found: string[]): void {
  const start = found.length;
  const pieces = SEPARATOR.test(chunk) ? chunk.replaceAll(",", "").split(/[._-]/) : [chunk];
  let hasParts = pieces.length > 1;
  for (const piece of pieces) if (addPiece(piece, keepsLast, found) > 1) hasParts = true;
  if (hasParts && !/['’]/.test(chunk)) found.splice(start, 0, wholeWord(chunk));
}

/** The word of a whole compound. Of a long one only the beginning is folded, because the rest is cut. */
function wholeWord(chunk: string): string {
  if (chunk.length > BEGINNING.length) {
    const beginning = lettersOf(chunk.slice(0, BEGINNING.length), "");
    const word = cut(beginning);
    if (beginning.length - word.length >= BEGINNING.rest) return word;
  }
  return cut(lettersOf(chunk, ""));
}

/** What is folded of a long compound. The rest is room for marks that belong to the last letter of the word. */
const BEGINNING = { length: 160, rest: 30 } as const;

/** What stands between two separators of a word. */
interface Piece {
  readonly words: readonly string[];
  /** How many parts it has by its humps. */
  readonly parts: number;
}

const PIECES = new Map<string, Piece>();

/** Adds the words of a piece. Returns its number of parts. */
function addPiece(piece: string, keepsLast: boolean, found: string[]): number {
  if (!keepsLast || piece.length > KEPT.characters) return addParts(piece, keepsLast, found);
  const { words, parts } = PIECES.get(piece) ?? pieceOf(piece);
  for (const word of words) found.push(word);
  return parts;
}

function pieceOf(piece: string): Piece {
  const words: string[] = [];
  const parts = addParts(piece, true, words);
  return keep(PIECES, piece, { words, parts });
}

function addParts(piece: string, keepsLast: boolean, found: string[]): number {
  const parts: string[] = [];
  for (const part of withoutClitic(piece).split(/['’]/)) addHumps(part, parts);
  // All parts are folded at once. No letter or digit becomes a `_`.
  for (const part of lettersOf(parts.join("_"), " ").split("_")) addPart(part, keepsLast, found);
  return parts.length;
}

const STEMS = new Map<string, string>();

/** Adds to what is kept, which begins again when it has grown too large. */
function keep<Value>(known: Map<string, Value>, key: string, value: Value): Value {
  if (key.length > KEPT.characters) return value;
  if (known.size >= KEPT.places) known.clear();
  known.set(key, value);
  return value;
}

/** Adds the parts of an identifier: getUser|Name, HTTP|Server. */
function addHumps(text: string, found: string[]): void {
  let start = 0;
  let before = 0;
  for (let at = 0; at < text.length; ) {
    const next = at + sizeAt(text, at);
    const kind = CASES.at(text, at);
    if (kind === CAPITAL && before >= CAPITAL) {
      const isEnd = before !== CAPITAL || (next < text.length && CASES.at(text, next) === SMALL);
      if (isEnd) {
        found.push(text.slice(start, at));
        start = at;
      }
    }
    before = kind;
    at = next;
  }
  found.push(start === 0 ? text : text.slice(start));
}

const CAPITAL = 2;
const SMALL = 3;
const CASES = new CharacterKinds((character) => {
  if (/\p{Lu}/u.test(character)) return CAPITAL;
  if (/\p{Ll}/u.test(character)) return SMALL;
  return /\p{N}/u.test(character) ? 4 : 1;
});

/** Adds the pairs of characters of a part, and then its words. */
function addPart(part: string, keepsLast: boolean, found: string[]): void {
  const words: string[] = [];
  for (let at = 0; at < part.length; ) {
    const start = at;
    const kind = KINDS.at(part, at);
    at = KINDS.endOf(kind, part, at);
    if (kind === UNSPACED) addPairs(part, start, at, keepsLast, found);
    else if (kind === SPACED) words.push(part.slice(start, at));
  }
  for (const word of words) found.push(baseForm(cut(word)));
}

function addPairs(text: string, start: number, end: number, keepsLast: boolean, found: string[]) {
  let before = start;
  for (let at = start + sizeAt(text, start); at < end; ) {
    const next = at + sizeAt(text, at);
    found.push(pairOf(text, before, next));
    before = at;
    at = next;
  }
  if (keepsLast || before === start) found.push(text.slice(before, end));
}

/** The characters between two places. Most pairs are repeated, so they are kept as words are. */
function pairOf(text: string, start: number, end: number): string {
  if (end - start > 2) return text.slice(start, end);
  const codes = ((text.charCodeAt(start) << 16) | text.charCodeAt(start + 1)) >>> 0;
  const place = (Math.imul(codes, 0x9e3779b1) >>> 16) & (KEPT.places - 1);
  if (keptPairCodes[place] !== codes) {
    keptPairCodes[place] = codes;
    keptPairs[place] = text.slice(start, end);
  }
  return keptPairs[place] as string;
}

const keptPairCodes = new Uint32Array(KEPT.places);
const keptPairs: string[] = new Array(KEPT.places);

const SPACE = 1;
const SPACED = 2;
/** A character of a script without spaces. */
const UNSPACED = 3;
/** Nothing that a word begins with. */
const SIGN = 4;
const IN_WORD = /[\p{L}\p{N}\p{M}\p{Extended_Pictographic}]/u;
const UNSPACED_SCRIPT =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const KINDS = new CharacterKinds((character) => {
  if (character === " ") return SPACE;
  if (isAscii(character)) return SPACED;
  if (UNSPACED_SCRIPT.test(character)) return UNSPACED;
  return IN_WORD.test(character) ? SPACED : SIGN;
});

/** The folded text, with `between` in place of everything that is not a letter. */
function lettersOf(text: string, between: string): string {
  const folded = foldText(text);
  // `FOLDED_IN` reads a character in ten times as long as the table.
  return LETTERS.endOf(LETTER, folded, 0) === folded.length
    ? folded
    : folded.replace(FOLDED_IN(folded), between);
}

const LETTER = 1;
const LETTERS = new CharacterKinds((character) =>
  character.search(FOLDED_IN(character)) < 0 ? LETTER : LETTER + 1,
);

/** "Caroline's" becomes "Caroline", "we'll" becomes "we". "don't" becomes the stop word "dont". */
function withoutClitic(part: string): string {
  const size = [2, 3].find((length) => "'’".includes(part.at(-length) ?? " "));
  const ending = size === undefined ? "" : part.slice(1 - size).toLowerCase();
  if (size === undefined || !CLITICS.has(ending)) return part;
  return part.slice(0, -size) + (ending === "t" ? "t" : "");
}

function cut(word: string): string {
  if (word.length <= WORD_LENGTH_MAX) return word;
  let end = 0;
  for (let count = 0; count < WORD_LENGTH_MAX; count += 1) end += sizeAt(word, end);
  return word.slice(0, end);
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
  const lower = text.toLowerCase();
  if (isAscii(text)) return lower;
  let folded = "";
  let start = 0;
  for (let at = 0; at < lower.length; at += 1) {
    const code = lower.charCodeAt(at);
    if (code < 128 || staysFolded(code)) continue;
    if (!isFoldedAlone(code)) return foldTogether(text);
    FOLDED[code] ??= foldTogether(lower.charAt(at));
    if (start < at) folded += lower.slice(start, at);
    folded += FOLDED[code];
    start = at + 1;
  }
  return folded + lower.slice(start);
}

/** What single characters become, by their codes. */
const FOLDED: string[] = new Array(0x530);

/** Whether a letter becomes the same, whatever stands beside it: of the Latin and the Cyrillic ones. */
function isFoldedAlone(code: number): boolean {
  return code < 0x250 || (code >= 0x400 && code < 0x530 && !(code >= 0x483 && code <= 0x489));
}

/** Whether a character is its own folded form: an ideograph, a kana, or a syllable of Hangul. */
function staysFolded(code: number): boolean {
  if (code < 0x3041) return false;
  if (code < 0x4e00) return code <= 0x3096 || (code >= 0x30a1 && code <= 0x30fa);
  return code <= 0x9fff || (code >= 0xac00 && code <= 0xd7a3);
}

function foldTogether(text: string): string {
  // NFKD takes Hangul and kana apart. NFKC puts them together again.
  return text.toLowerCase().normalize("NFKD").replace(MARKS, "").normalize("NFKC").toLowerCase();
}

/** Not all of \p{M}: in Thai or Devanagari a mark is a vowel, and without it the word is another one. */
const MARKS = /[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u0652]+/gu;
