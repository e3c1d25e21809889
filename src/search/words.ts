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

const CHUNK = unicodePattern(/[A-Za-z0-9]+(?:[._'-][A-Za-z0-9]+|,\d{3}(?!\d))*/g, {
  source: String.raw`[\p{L}\p{N}\p{M}]+(?:[._'’-][\p{L}\p{N}\p{M}]+|,\p{Nd}{3}(?!\p{N}))*|\p{Extended_Pictographic}`,
  flags: "gu",
});
/** A word without parts. */
const PLAIN = /^(?:[A-Z]?[a-z]+|[A-Z]+|[0-9]+)$/;
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
/** An English ending after an apostrophe, as in it's, I'm, we'll. */
const CLITIC = /['’](?:s|t|d|m|ll|re|ve)$/i;
const UNSPACED = unicodePattern(NOTHING, {
  source: String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+`,
  flags: "gu",
});

/** Characters that folding adds beside letters: ㈠ becomes (一), ½ becomes 1⁄2. */
const FOLDED_IN = unicodePattern(/[^A-Za-z0-9._-]/g, {
  source: String.raw`[^\p{L}\p{N}\p{M}\p{Extended_Pictographic}._-]`,
  flags: "gu",
});

function collect(text: string, keepsLast: boolean): string[] {
  const found: string[] = [];
  for (const [chunk] of text.matchAll(CHUNK(text))) {
    if (PLAIN.test(chunk)) found.push(baseForm(cut(chunk.toLowerCase())));
    else if (isAscii(chunk)) addEnglishCompound(chunk, found);
    else addCompound(chunk, keepsLast, found);
  }
  return found;
}

function addEnglishCompound(chunk: string, found: string[]): void {
  const letters = chunk.includes(",") ? chunk.replaceAll(",", "") : chunk;
  const quoted = letters.includes("'");
  const plain = quoted ? letters.split(/[._-]/).map(withoutClitic).join(" ") : letters;
  const parts = plain.match(ENGLISH_PART) ?? [];
  if (parts.length > 1 && !quoted) found.push(cut(letters.toLowerCase()));
  for (const part of parts) found.push(baseForm(cut(part.toLowerCase())));
}

function addCompound(chunk: string, keepsLast: boolean, found: string[]): void {
  const pieces = SEPARATOR.test(chunk)
    ? chunk
        .replaceAll(",", "")
        .split(/[._-]/)
        .flatMap((part) => withoutClitic(part).split(/['’]/))
    : [chunk];
  const parts = pieces.flatMap((part) => part.split(HUMP(part)));
  if (parts.length > 1 && !/['’]/.test(chunk)) {
    found.push(cut(lettersOf(chunk, "")));
  }
  for (const part of parts) addPart(lettersOf(part, " "), keepsLast, found);
}

function addPart(part: string, keepsLast: boolean, found: string[]): void {
  const spaced = part.replace(UNSPACED(part), (run) => {
    const characters = [...run];
    characters.forEach((character, index) => {
      const next = characters[index + 1];
      if (next !== undefined) found.push(character + next);
      else if (keepsLast || index === 0) found.push(character);
    });
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
  return part.replace(CLITIC, (clitic) => (/t$/i.test(clitic) ? "t" : ""));
}

function cut(word: string): string {
  return word.length > WORD_LENGTH_MAX ? [...word].slice(0, WORD_LENGTH_MAX).join("") : word;
}

/**
 * The form of a word in the index: without its English ending, so that "painted" finds
 * "painting". Other words stay as they are.
 */
export function stem(word: string): string {
  return ENGLISH.test(word) ? stemEnglish(word) : word;
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
