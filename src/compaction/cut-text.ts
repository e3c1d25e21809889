import { jsonBytes } from "../core/tokens.ts";
import { textWeight } from "../text/text-weight.ts";

/*
 * Cutting a text to the bytes that it takes inside JSON. A quote takes two of
 * them and a control character six, so a text that fits as UTF-8 need not fit
 * here; one that fits here fits there. No cut parts the two halves of a
 * surrogate pair, nor what a reader takes for one letter: an accent from its
 * letter, a family from its members.
 */

/** The larger of a text's bytes in JSON and its weight in quarter tokens: base64 weighs more than its bytes. */
export function textSize(text: string): number {
  return Math.max(jsonTextBytes(text), textWeight(text));
}

/** Bytes that a text takes between the quotes of a JSON string. */
export function jsonTextBytes(text: string): number {
  return jsonBytes(text) - 2;
}

/** The longest result of `cut` that fits both limits: `sizeMax` bytes, and `sizeMax` as its weight. */
export function cutToSize(sizeMax: number, cut: (bytesMax: number) => string): string {
  let bytesMax = sizeMax;
  for (;;) {
    const piece = cut(bytesMax);
    const weight = textWeight(piece);
    if (weight <= sizeMax || bytesMax <= 0) return piece;
    bytesMax = Math.floor(Math.min(bytesMax - 1, (bytesMax * sizeMax) / weight));
  }
}

/** Each unit takes at least a byte, so a text that is far too long need not be measured. */
function fits(text: string, bytesMax: number): boolean {
  return text.length <= bytesMax && jsonTextBytes(text) <= bytesMax;
}

/** The text, or as much of its start as fits with a mark that something is missing. */
export function cutEnd(text: string, bytesMax: number, mark = " […]"): string {
  if (fits(text, bytesMax)) return text;
  const room = bytesMax - jsonTextBytes(mark);
  return room <= 0
    ? text.slice(0, headLength(text, bytesMax))
    : text.slice(0, headLength(text, room)) + mark;
}

/** The text, or as much of its head and its tail as fits, half and half, with a mark in between. */
export function cutMiddle(text: string, bytesMax: number, mark = " […] "): string {
  if (fits(text, bytesMax)) return text;
  const room = bytesMax - jsonTextBytes(mark);
  if (room <= 0) return text.slice(0, headLength(text, bytesMax));
  const head = text.slice(0, headLength(text, Math.ceil(room / 2)));
  const tail = text.slice(text.length - tailLength(text, Math.floor(room / 2)));
  return head + mark + tail;
}

/** A longer word is cut anywhere. */
const CUT_WORD_MAX = 24;

/** A text that `cutEnd` or `cutMiddle` shortened, without the halves of words beside its mark. */
export function atWords(text: string, piece: string, mark: string): string {
  for (let at = piece.indexOf(mark); at >= 0; at = piece.indexOf(mark, at + 1)) {
    const head = piece.slice(0, at);
    const tail = piece.slice(at + mark.length);
    if (!text.startsWith(head) || !text.endsWith(tail) || piece === text) continue;
    const [half = ""] = /\s/.test(text.charAt(at)) ? [] : (HALF_AT_END.exec(head) ?? []);
    const before = text.charAt(text.length - tail.length - 1);
    const [rest = ""] = /\s/.test(before) ? [] : (HALF_AT_START.exec(tail) ?? []);
    return head.slice(0, head.length - half.length) + mark + tail.slice(rest.length);
  }
  return piece;
}

const HALF_AT_END = new RegExp(`\\s\\S{1,${CUT_WORD_MAX}}$`);
const HALF_AT_START = new RegExp(`^\\S{1,${CUT_WORD_MAX}}\\s`);

/** The text, cut to a number of characters: half from its start and half from its end. */
export function twoEnds(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  const half = Math.floor(charactersMax / 2);
  return `${text.slice(0, half)} ${text.slice(-half)}`;
}

function headLength(text: string, bytesMax: number): number {
  let bytes = 0;
  let length = 0;
  while (length < text.length) {
    const units = isPair(text, length) ? 2 : 1;
    bytes += units === 2 ? 4 : bytesOf(text.charCodeAt(length));
    if (bytes > bytesMax) break;
    length += units;
  }
  return wholeLetters(text, length, -1);
}

function tailLength(text: string, bytesMax: number): number {
  let bytes = 0;
  let start = text.length;
  while (start > 0) {
    const units = isPair(text, start - 2) ? 2 : 1;
    bytes += units === 2 ? 4 : bytesOf(text.charCodeAt(start - 1));
    if (bytes > bytesMax) break;
    start -= units;
  }
  return text.length - wholeLetters(text, start, 1);
}

/** The longest letter in code units. Longer combinations are cut anywhere. */
const LETTER_UNITS_MAX = 40;

/** The nearest place from `index` on, forwards or backwards, that parts no letter. */
function wholeLetters(text: string, index: number, direction: -1 | 1): number {
  if (text.charCodeAt(index) < 0x80 && text.charCodeAt(index - 1) < 0x80) return index;
  const from = Math.max(0, index - LETTER_UNITS_MAX);
  const around = text.slice(from, index + LETTER_UNITS_MAX);
  // Loading its tables of scripts takes as long as Node's start.
  segmenter ??= new Intl.Segmenter();
  const letter = segmenter.segment(around).containing(index - from);
  if (!letter || from + letter.index === index) return index;
  return from + letter.index + (direction < 0 ? 0 : letter.segment.length);
}

let segmenter: Intl.Segmenter | undefined;

function isPair(text: string, index: number): boolean {
  return isHighSurrogate(text.charCodeAt(index)) && isLowSurrogate(text.charCodeAt(index + 1));
}

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdbff;
const isLowSurrogate = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff;

/** Bytes of one UTF-16 unit in JSON. A surrogate without its other half is written as `\udxxx`. */
function bytesOf(unit: number): number {
  if (unit === 0x22 || unit === 0x5c) return 2;
  if (unit < 0x20) return SHORT_ESCAPES.has(unit) ? 2 : 6;
  if (unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  return isHighSurrogate(unit) || isLowSurrogate(unit) ? 6 : 3;
}

/** `\b \t \n \f \r` */
const SHORT_ESCAPES = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d]);
