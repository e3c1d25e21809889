import { normalForm } from "../character-kinds.ts";
import { FRENCH, FRENCH_YESTERDAY, PHRASES, UNSPACED_PIECES } from "./time-words.ts";

/** A word of a text, or an English one in its place. */
export interface Token {
  readonly word: string;
  readonly start: number;
  readonly end: number;
  /** A number with a point behind it, as German writes "14." */
  readonly hasPoint: boolean;
}

const TOKEN =
  /\d{4}-\d\d(?:-\d\d)?(?![\p{L}\p{N}-])|\d+(?:(?:[.:,/]\d+)+|\p{L}*)|[\p{L}\p{M}][\p{L}\p{M}\p{N}]*/gu;
/** Longer texts are no questions. */
const TOKENS_MAX = 400;

/** The words of a text in small letters, with English ones in place of what other languages say in other ways. */
export function tokensOf(said: string): Token[] {
  const text = withUsualDigits(said);
  const found: Token[] = [];
  for (const { 0: word, index } of text.matchAll(TOKEN)) {
    if (found.length === TOKENS_MAX) break;
    const end = index + word.length;
    const hasPoint = /^\d+$/.test(word) && text[end] === ".";
    found.push({ word: normalForm(word.toLowerCase(), "NFC"), start: index, end, hasPoint });
  }
  return inEnglish(found, text);
}

/** Full-width digits as usual ones. No place in the text changes. */
function withUsualDigits(text: string): string {
  return text.replace(/[\uff10-\uff19]/g, (digit) => String(digit.charCodeAt(0) - 0xff10));
}

const PHRASE_WORDS = 3;
const UNSPACED_LETTER = /[\u0e00-\u0e7f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]/;

/** The tokens with English words in place of phrases of other languages. */
function inEnglish(tokens: readonly Token[], text: string): Token[] {
  const found: Token[] = [];
  for (let at = 0; at < tokens.length; ) {
    let taken = 0;
    for (
      let count = Math.min(PHRASE_WORDS, tokens.length - at);
      count > 0 && taken === 0;
      count -= 1
    ) {
      const some = tokens.slice(at, at + count);
      const english = englishOf(some, tokens);
      const [first, last] = [some[0], some[count - 1]];
      if (!english || !first || !last) continue;
      taken = count;
      const place = { start: first.start, end: last.end, hasPoint: false };
      for (const word of english) found.push({ word, ...place });
    }
    if (taken === 0) found.push(tokens[at] as Token);
    at += Math.max(1, taken);
  }
  const unspaced = UNSPACED_LETTER.test(text) ? unspacedTokens(text) : [];
  // They may be from anywhere in the text, so the first of the others is not behind them.
  return unspaced.length > 0 ? [...unspaced, NOTHING, ...found] : found;
}

const NOTHING: Token = { word: "", start: 0, end: 0, hasPoint: false };

function englishOf(some: readonly Token[], all: readonly Token[]): readonly string[] | undefined {
  const phrase = some.map(({ word }) => word).join(" ");
  if (phrase !== FRENCH_YESTERDAY) return PHRASES.get(phrase);
  const isFrench = all.length === 1 || all.some(({ word }) => FRENCH.has(word));
  return isFrench ? ["yesterday"] : undefined;
}

/** The English words of the first time in a script without spaces. */
function unspacedTokens(text: string): Token[] {
  const head = text.slice(0, UNSPACED_MAX);
  patterns ??= UNSPACED_PIECES.map(([pattern, english]) => [new RegExp(pattern, "u"), english]);
  let first: { readonly found: RegExpExecArray; readonly english: string } | undefined;
  for (const [pattern, english] of patterns) {
    const found = pattern.exec(head);
    if (found && (!first || found.index < first.found.index)) first = { found, english };
  }
  if (!first) return [];
  const { found, english } = first;
  const [piece, ...parts] = found;
  const place = { start: found.index, end: found.index + piece.length, hasPoint: false };
  return english
    .replace(/(-?)\$(\d)/g, (_, dash: string, at: string) => {
      const part = parts[Number(at) - 1] ?? "";
      // ISO 8601 has two digits for a month and a day.
      return dash === "" ? part : `-${part.padStart(2, "0")}`;
    })
    .split(" ")
    .map((word) => ({ word, ...place }));
}

const UNSPACED_MAX = 2000;
/** Made for the first text that needs them. */
let patterns: readonly (readonly [RegExp, string])[] | undefined;

/** "14.11.2026", "14/11/2026" and "2026/11/14" as ISO 8601 has them. "03/04/2026" is two days, so it is none. */
export function isoOf(word: string): string {
  if (/^\d{4}([./])\d\d\1\d\d$/.test(word)) return word.replace(/[./]/g, "-");
  const [, one = "", sign, other = "", year] = /^(\d\d)([./])(\d\d)\2(\d{4})$/.exec(word) ?? [];
  if (sign === undefined) return word;
  const isDayFirst = sign === "." || Number(one) > 12;
  if (!isDayFirst && Number(other) <= 12) return word;
  return isDayFirst ? `${year}-${other}-${one}` : `${year}-${one}-${other}`;
}
