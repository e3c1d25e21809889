import { asciiSet, isDigit } from "../text/character-kinds.ts";

/** The place in a text for a place in a part of it. */
export type PlaceOf = (at: number) => number;

/** How often a text may be encoded in another: JSON in JSON. */
const DEPTH_MAX = 3;
const ENCODED =
  /\\(?:[nrt"'/\\]|u00[2-7][0-9a-fA-F])|&(?:quot|amp|lt|gt|#(?:39|34|10|x27|x22));|%(?:2[0-9a-fA-F]|3[a-fA-F]|40|5[fF])|[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]/;
/** Colours, as `grep` and logs put them around what they found. */
const COLOUR = String.raw`(?:\u001b|\\u001[bB])\[[\d;]{0,12}[mK]`;
const ESCAPE = new RegExp(`${ENCODED.source}|${COLOUR}`, "g");

/** The next place of a backslash or of an entity that stands for something. */
function nextEscape(text: string, from: number): number {
  ESCAPE.lastIndex = from;
  return ESCAPE.exec(text)?.index ?? -1;
}

/**
 * Calls `see` with the lines of a text that have escapes of JSON, HTML or addresses, colours of a terminal, characters without
 * a width or of full width, and with the line behind them, without all that: again and again while there is any.
 */
export function eachDecoded(text: string, see: (decoded: string, placeOf: PlaceOf) => void): void {
  for (let at = nextEscape(text, 0); at >= 0; ) {
    const start = text.lastIndexOf("\n", at) + 1;
    let end = endOfLine(text, at);
    at = nextEscape(text, end);
    while (at >= 0 && at < endOfLine(text, end + 1)) {
      end = endOfLine(text, end + 1);
      at = nextEscape(text, end);
    }
    seeDecoded(text.slice(start, Math.min(text.length, endOfLine(text, end + 1))), start, see);
  }
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

function seeDecoded(part: string, start: number, see: (decoded: string, placeOf: PlaceOf) => void) {
  let decoded = part;
  let places: Int32Array | undefined;
  for (let depth = 0; depth < DEPTH_MAX && nextEscape(decoded, 0) >= 0; depth += 1) {
    const outer = places;
    const once = decodeOnce(decoded);
    decoded = once.text;
    const map = outer ? once.places.map((place) => outer[place] as number) : once.places;
    places = map;
    see(decoded, (at) => start + (map[at] as number));
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&quot;": '"',
  "&#34;": '"',
  "&#x22;": '"',
  "&#39;": "'",
  "&#x27;": "'",
  "&#10;": "\n",
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
};
const LETTERS: Readonly<Record<string, string>> = { n: "\n", r: "\n", t: "\t" };

/** The text with each escape replaced by its character, and where each character was, with the end as the last one. */
function decodeOnce(text: string): { readonly text: string; readonly places: Int32Array } {
  const source = withLines(text);
  const places = new Int32Array(text.length + 1);
  const parts: string[] = [];
  let size = 0;
  let from = 0;
  const keep = (to: number) => {
    parts.push(source.slice(from, to));
    for (let at = from; at < to; at += 1) places[size++] = at;
  };
  ESCAPE.lastIndex = 0;
  for (let match = ESCAPE.exec(source); match; match = ESCAPE.exec(source)) {
    keep(match.index);
    const character = characterOf(match[0]);
    parts.push(character);
    if (character !== "") places[size++] = match.index;
    from = match.index + match[0].length;
  }
  keep(text.length);
  places[size] = text.length;
  return { text: parts.join(""), places: places.subarray(0, size + 1) };
}

function characterOf(sign: string): string {
  if (sign.startsWith("&")) return ENTITIES[sign] ?? " ";
  if (sign.startsWith("%")) return String.fromCharCode(Number.parseInt(sign.slice(1), 16));
  if (sign.length === 1) return plainOf(sign.charCodeAt(0));
  if (/[mK]$/.test(sign)) return "";
  const letter = sign.charAt(1);
  if (letter === "u") return String.fromCharCode(Number.parseInt(sign.slice(2), 16));
  return LETTERS[letter] ?? letter;
}

/** A letter or digit of full width as the usual one. What has no width is left out. */
function plainOf(code: number): string {
  return code >= 0xff10 && code <= 0xff5a ? String.fromCharCode(code - 0xfee0) : "";
}

const QUOTE = '"'.charCodeAt(0);
const BACKSLASH = "\\".charCodeAt(0);
const LETTER_N = "n".charCodeAt(0);

/**
 * The text with a line break in the place of each quote around a string that has lines or quotes itself: such a string
 * is a text of its own.
 */
function withLines(text: string): string {
  let opened = -1;
  let hasLines = false;
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) {
      const next = text.charCodeAt(at + 1);
      hasLines ||= next === LETTER_N || next === QUOTE;
      at += 1;
    } else if (code === QUOTE && opened >= 0) {
      if (hasLines) {
        parts.push(text.slice(from, opened), "\n", text.slice(opened + 1, at), "\n");
        from = at + 1;
      }
      opened = -1;
    } else if (code === QUOTE) {
      opened = at;
      hasLines = false;
    }
  }
  return parts.length === 0 ? text : parts.join("") + text.slice(from);
}

/** Signs at the beginning of a line: of a quotation, a comment, a diff. */
const SIGNS = asciiSet(/[>#/*+;-]/);
const PREFIX =
  /[ \t]{0,12}(?:(?:>[ \t]?){1,6}|#{1,3}[ \t]?|\/\/[ \t]?|\*[ \t]?|--?[ \t]?|\+[ \t]?|;[ \t]?|\d{1,6}(?:[\t→|]|[:.)][ \t]))/y;

/**
 * Calls `see` with rows of lines that begin with the same sign, of a quotation, of comments, of a diff, or with line numbers,
 * without it: those rows that one of the `places` is in.
 */
export function eachUnquoted(
  text: string,
  places: readonly number[],
  see: (inner: string, placeOf: PlaceOf) => void,
): void {
  let seen = 0;
  const seeRow = () => {
    const [first, last] = [rows[0], rows.at(-1)];
    if (!first || !last || rows.length < 2) return;
    while (seen < places.length && (places[seen] as number) < first.from) seen += 1;
    if ((places[seen] ?? text.length) < last.to) seeRows(text, rows, see);
  };
  let rows: Row[] = [];
  let sign = 0;
  for (let start = 0; start < text.length; ) {
    const end = endOfLine(text, start);
    const first = signAt(text, start);
    if (first !== sign || first === 0) {
      seeRow();
      rows = [];
      sign = first;
    }
    if (first !== 0) {
      PREFIX.lastIndex = start;
      const prefix = PREFIX.exec(text)?.[0].length ?? 0;
      rows.push({ from: Math.min(start + prefix, end), to: Math.min(end + 1, text.length) });
    }
    start = end + 1;
  }
  seeRow();
}

interface Row {
  readonly from: number;
  readonly to: number;
}

const SPACE = " ".charCodeAt(0);
const TAB = "\t".charCodeAt(0);
/** One for all line numbers. */
const NUMBER = 1;

/** The sign that a line begins with, behind its indentation; 0 without one. */
function signAt(text: string, start: number): number {
  let at = start;
  while (at < start + 12 && (text.charCodeAt(at) === SPACE || text.charCodeAt(at) === TAB)) at += 1;
  const code = text.charCodeAt(at);
  if (isDigit(code)) return NUMBER;
  return SIGNS[code] === 1 ? code : 0;
}

function seeRows(
  text: string,
  rows: readonly Row[],
  see: (inner: string, placeOf: PlaceOf) => void,
): void {
  const starts: number[] = [];
  let inner = "";
  for (const { from, to } of rows) {
    starts.push(inner.length);
    inner += text.slice(from, to);
  }
  see(inner, (at) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] as number) <= at) low = middle;
      else high = middle - 1;
    }
    return (rows[low] as Row).from + at - (starts[low] as number);
  });
}
