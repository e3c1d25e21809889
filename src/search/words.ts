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
  return collect(text, PLAIN);
}

/** The same words, each by its `stem`. */
export function stemmedWords(text: string): string[] {
  return collect(text, STEMMED);
}

/** Whether a text has any words. One letter is enough to know, and nearly every text has one. */
export function hasWords(text: string): boolean {
  return /[a-z]/.test(text) || words(text).length > 0;
}

/** The words of a question. The last character of a run without spaces is left out: its pair has it. */
export function askedWords(text: string): string[] {
  return collect(text, ASKED);
}

/** Whether a word is one character of a script without spaces. Look it up as the beginning of words. */
export function isBeginning(word: string): boolean {
  return word !== "" && word.length === sizeAt(word, 0) && KINDS.at(word, 0) === UNSPACED;
}

/** Longer words are cut. They are checksums and the like, whose beginnings differ. */
const WORD_LENGTH_MAX = 100;

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

/** What a character is. The numbers are in order: from `UNCASED` on, a word may begin with it. */
const SIGN = 1;
/** A word of its own, as 🎉 is. */
const PICTURE = 2;
const COMMA = 3;
const JOINT = 4;
const APOSTROPHE = 5;
const UNCASED = 6;
const CAPITAL = 7;
const SMALL = 8;
/** A number that is no digit of a decimal: ½, Ⅳ. */
const NUMBER = 9;
const DECIMAL = 10;
const GLYPHS = new CharacterKinds((character) => {
  if (/\p{Lu}/u.test(character)) return CAPITAL;
  if (/\p{Ll}/u.test(character)) return SMALL;
  if (/\p{Nd}/u.test(character)) return DECIMAL;
  if (/\p{N}/u.test(character)) return NUMBER;
  if (/[\p{L}\p{M}]/u.test(character)) return UNCASED;
  if (/['’]/.test(character)) return APOSTROPHE;
  if (/[._-]/.test(character)) return JOINT;
  if (character === ",") return COMMA;
  return /\p{Extended_Pictographic}/u.test(character) ? PICTURE : SIGN;
});

/** In which form words are collected. */
interface Form {
  /** Whether the last character of a run without spaces is a word of its own. */
  readonly keepsLast: boolean;
  /** Whether the words are given by their stems. */
  readonly stems: boolean;
  /** The words of short parts of compounds that have not exactly one. */
  readonly known: Map<string, readonly string[]>;
}

const PLAIN: Form = { keepsLast: true, stems: false, known: new Map() };
const STEMMED: Form = { keepsLast: true, stems: true, known: new Map() };
const ASKED: Form = { keepsLast: false, stems: false, known: new Map() };

function collect(text: string, form: Form): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    const first = KIND[code] as number;
    if (first === OTHER) {
      at += 1;
      continue;
    }
    if (first === FOREIGN) {
      const glyph = GLYPHS.at(text, at);
      if (glyph < UNCASED) {
        const next = at + sizeAt(text, at);
        if (glyph === PICTURE) addPart(text, at, next, hashOf(text, at, next), true, form, found);
        at = next;
        continue;
      }
    }
    let end = at + 1;
    let rest = OTHER;
    let hash = hashWith(0, code);
    for (; end < text.length; end += 1) {
      const next = text.charCodeAt(end);
      const kind = KIND[next] as number;
      if (kind === OTHER) break;
      if (kind === FOREIGN) {
        if (GLYPHS.at(text, end) >= APOSTROPHE) rest |= FOREIGN;
        break;
      }
      rest |= kind;
      hash = hashWith(hash, next);
    }
    if (isPlain(first, rest) && !goesOn(text, end)) {
      found.push(plainWord(text, at, end, hash, form));
      at = end;
      continue;
    }
    end = compoundEnd(text, at);
    addCompound(text, at, end, form, found);
    at = end;
  }
  return found;
}

/**
 * Where a word with all its parts ends: letters and digits, also behind a sign inside the word, as in
 * `it's` and `turn_id.ts`, and three digits behind a comma.
 */
function compoundEnd(text: string, start: number): number {
  let end = lettersEnd(text, start);
  while (end + 1 < text.length) {
    const sign = GLYPHS.at(text, end);
    if (sign !== COMMA && sign !== JOINT && sign !== APOSTROPHE) break;
    const next = sign === COMMA ? thousandsEnd(text, end + 1) : lettersEnd(text, end + 1);
    if (next === end + 1) break;
    end = next;
  }
  return end;
}

function lettersEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length && GLYPHS.at(text, at) >= UNCASED) at += sizeAt(text, at);
  return at;
}

/** The place behind exactly three digits; `start` when there are more or fewer. */
function thousandsEnd(text: string, start: number): number {
  let at = start;
  for (let count = 0; count < 3; count += 1) {
    if (at >= text.length || GLYPHS.at(text, at) !== DECIMAL) return start;
    at += sizeAt(text, at);
  }
  return at < text.length && GLYPHS.at(text, at) >= NUMBER ? start : at;
}

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

/** The word of the letters or digits between two places of a text, in its form. */
function plainWord(text: string, start: number, end: number, hash: number, form: Form): string {
  const place = placeOf(hash);
  if (!isKept(place, text, start, end, hash)) {
    const part = text.slice(start, end);
    const word = baseForm(cut(withoutCommas(part).toLowerCase()));
    if (part.length > KEPT.characters) return form.stems ? stem(word) : word;
    keep(place, hash, part, word);
  }
  return keptWord(place, form);
}

function placeOf(hash: number): number {
  return (hash ^ (hash >>> 16)) & (KEPT.places - 1);
}

function isKept(place: number, text: string, start: number, end: number, hash: number): boolean {
  if (keptHashes[place] !== hash) return false;
  const known = keptParts[place] as string;
  return known.length === end - start && text.startsWith(known, start);
}

function keep(place: number, hash: number, part: string, word: string): void {
  keptHashes[place] = hash;
  keptParts[place] = part;
  keptWords[place] = word;
  keptStems[place] = "";
}

function keptWord(place: number, { stems }: Form): string {
  const word = keptWords[place] as string;
  if (!stems) return word;
  if (keptStems[place] === "") keptStems[place] = stem(word);
  return keptStems[place] as string;
}

function hashOf(text: string, start: number, end: number): number {
  let hash = 0;
  for (let at = start; at < end; at += 1) hash = hashWith(hash, text.charCodeAt(at));
  return hash;
}

function hashWith(hash: number, code: number): number {
  return (Math.imul(hash, 31) + code) | 0;
}

/** Adds the whole of a compound, unless it is a single part or has an apostrophe, and its parts. */
function addCompound(text: string, start: number, end: number, form: Form, found: string[]): void {
  const before = found.length;
  let parts = 0;
  let hasQuote = false;
  let hash = 0;
  for (let from = start; from < end; ) {
    let to = from;
    let quote = -1;
    for (; to < end; to += 1) {
      const code = text.charCodeAt(to);
      hash = hashWith(hash, code);
      const sign = SIGNS[code] as number;
      if (sign === BETWEEN_PIECES) break;
      if (sign === QUOTE) quote = to;
    }
    parts += addPiece(text, from, to, quote, form, found);
    if (quote >= 0) hasQuote = true;
    from = to + 1;
  }
  if (parts < 2 || hasQuote) return;
  // `splice` makes a list of what it removes.
  let at = found.push("") - 1;
  for (; at > before; at -= 1) found[at] = found[at - 1] as string;
  found[before] = wholeOf(text, start, end, hash, form);
}

/** The signs inside a compound. */
const BETWEEN_PIECES = 1;
const QUOTE = 2;
const SIGNS = new Uint8Array(0x10000);
for (const sign of "._-") SIGNS[sign.charCodeAt(0)] = BETWEEN_PIECES;
for (const sign of "'’") SIGNS[sign.charCodeAt(0)] = QUOTE;

/** The word of a whole compound, in its form. */
function wholeOf(text: string, start: number, end: number, hash: number, form: Form): string {
  const place = placeOf(hash);
  if (!isKept(place, text, start, end, hash)) {
    const chunk = text.slice(start, end);
    const word = foldedBeginning(chunk);
    if (chunk.length > KEPT.characters) return form.stems ? stem(word) : word;
    keep(place, hash, chunk, word);
  }
  return keptWord(place, form);
}

/** Of a long compound only the beginning is folded, because the rest is cut. */
function foldedBeginning(chunk: string): string {
  if (isAscii(chunk)) return cut(withoutCommas(chunk).toLowerCase());
  if (chunk.length > BEGINNING.length) {
    const beginning = lettersOf(chunk.slice(0, BEGINNING.length), "");
    const word = cut(beginning);
    if (beginning.length - word.length >= BEGINNING.rest) return word;
  }
  return cut(lettersOf(chunk, ""));
}

/** What is folded of a long compound. The rest is room for marks that belong to the last letter of the word. */
const BEGINNING = { length: 160, rest: 30 } as const;

/**
 * Adds the parts of what stands between two separators, whose last apostrophe is at `quote`. Returns how
 * many there are. "Caroline's" is "Caroline", and "we'll" is "we". "don't" becomes the stop word "dont".
 */
function addPiece(
  text: string,
  start: number,
  end: number,
  quote: number,
  form: Form,
  found: string[],
): number {
  if (quote < 0 || end - quote > 3) return addParts(text, start, end, form, found);
  const ending = text.slice(quote + 1, end).toLowerCase();
  if (!CLITICS.has(ending)) return addParts(text, start, end, form, found);
  if (ending !== "t") return addParts(text, start, quote, form, found);
  const joined = `${text.slice(start, quote)}t`;
  return addParts(joined, 0, joined.length, form, found);
}

/** Adds the parts of an identifier, getUser|Name and HTTP|Server, and those between apostrophes. */
function addParts(text: string, start: number, end: number, form: Form, found: string[]): number {
  let parts = 0;
  let from = start;
  let before = UNCASED;
  let isForeign = false;
  let hash = 0;
  for (let at = start; at < end; ) {
    const code = text.charCodeAt(at);
    const kind = GLYPHS.at(text, at);
    const next = code < 0xd800 ? at + 1 : at + sizeAt(text, at);
    const isHump =
      kind === CAPITAL &&
      before >= CAPITAL &&
      (before !== CAPITAL || (next < end && GLYPHS.at(text, next) === SMALL));
    if (isHump || kind === APOSTROPHE) {
      addPart(text, from, at, hash, isForeign, form, found);
      parts += 1;
      from = isHump ? at : next;
      isForeign = false;
      hash = 0;
    }
    if (kind !== APOSTROPHE) {
      hash = hashWith(hash, code);
      if (next > at + 1) hash = hashWith(hash, text.charCodeAt(at + 1));
      if (code >= 128) isForeign = true;
    }
    before = kind;
    at = next;
  }
  addPart(text, from, end, hash, isForeign, form, found);
  return parts + 1;
}

/** Adds the words of a part: one, or several in a script without spaces. */
function addPart(
  text: string,
  start: number,
  end: number,
  hash: number,
  isForeign: boolean,
  form: Form,
  found: string[],
): void {
  const place = placeOf(hash);
  if (!isForeign) return void found.push(plainWord(text, start, end, hash, form));
  if (isKept(place, text, start, end, hash)) return void found.push(keptWord(place, form));
  const part = text.slice(start, end);
  const known = form.known.get(part);
  if (known) {
    for (const word of known) found.push(word);
    return;
  }
  const before = found.length;
  addFolded(lettersOf(withoutCommas(part), " "), form, found);
  const isShort = part.length <= KEPT.characters;
  const [only] = found.length === before + 1 ? found.slice(before) : [];
  // A pair that is the only word of a question has another one after it in a text.
  const isInAllForms = only !== undefined && (form.keepsLast || !beginsWithPair(only));
  if (isShort && isInAllForms) keep(place, hash, part, only);
  if (form.stems)
    for (let at = before; at < found.length; at += 1) found[at] = stem(found[at] as string);
  if (!isShort || isInAllForms) return;
  if (form.known.size >= KEPT.places) form.known.clear();
  form.known.set(part, found.slice(before));
}

/** Whether a word is two characters of a script without spaces. */
function beginsWithPair(word: string): boolean {
  return KINDS.at(word, 0) === UNSPACED && !isBeginning(word);
}

function withoutCommas(text: string): string {
  return text.includes(",") ? text.replaceAll(",", "") : text;
}

/** Adds the pairs of characters of a part, and then its words. */
function addFolded(part: string, { keepsLast }: Form, found: string[]): void {
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
const UNSPACED_SCRIPT =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const KINDS = new CharacterKinds((character) => {
  if (character === " ") return SPACE;
  if (isAscii(character)) return SPACED;
  return UNSPACED_SCRIPT.test(character) ? UNSPACED : SPACED;
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
  if (word.length > KEPT.characters) return stemOf(word);
  let known = STEMS.get(word);
  if (known === undefined) {
    known = stemOf(word);
    if (STEMS.size >= KEPT.places) STEMS.clear();
    STEMS.set(word, known);
  }
  return known;
}

function stemOf(word: string): string {
  return ENGLISH.test(word) ? stemEnglish(word) : word;
}

const STEMS = new Map<string, string>();
/** An English word. No other last letter belongs to an ending, so the stemmer would return the word. */
const ENGLISH = /^[a-z]*[cdegilmnrsty]$/;

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
