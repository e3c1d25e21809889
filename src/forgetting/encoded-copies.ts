/** A part of a text that says something in another writing. */
export interface EncodedPart {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Characters of Base64 that twelve bytes and fewer have are those of words, paths and ids. */
const BASE64 = /[\w+/-]{12,}/g;
/** Longer ones are tried from their first character only. */
const SHIFTED_MAX = 4096;
/** A line of this length goes on in the next. */
const WRAPPED_MIN = 60;
const HEX = /(?:(?:\\x|0x|[ :,-])?[\dA-Fa-f]{2}){6,}/g;
const DIGITS = /(?:\\x|0x|[ :,-])?([\dA-Fa-f]{2})/g;

/** The parts of a text that may be Base64 or hexadecimal digits, as the texts that they stand for. */
export function* encodedParts(text: string): Generator<EncodedPart> {
  yield* base64Parts(text);
  for (const { 0: found, index: start } of text.matchAll(HEX)) {
    const bytes = found.replace(DIGITS, "$1").replace(/[^\dA-Fa-f]/g, "");
    const end = start + found.length;
    for (const digits of [bytes, bytes.slice(1)]) {
      const said = textOf(Buffer.from(digits.slice(0, digits.length & ~1), "hex"));
      if (said !== undefined) yield { start, end, text: said };
    }
  }
}

function* base64Parts(text: string): Generator<EncodedPart> {
  let joinedTo = 0;
  for (const { 0: found, index: start } of text.matchAll(BASE64)) {
    let end = start + found.length;
    if (found.length >= WRAPPED_MIN && start >= joinedTo) {
      const { letters, end: last } = joinedLines(text, found, end);
      joinedTo = last;
      const said = last > end ? textOf(Buffer.from(letters, "base64")) : undefined;
      if (said !== undefined) yield { start, end: last, text: said };
    }
    while (text[end] === "=") end += 1;
    // What stands before it may be of the same characters.
    const shifts = found.length > SHIFTED_MAX ? [0] : [0, 1, 2, 3];
    for (const shift of shifts) {
      const said = textOf(Buffer.from(found.slice(shift), "base64"));
      if (said !== undefined) yield { start, end, text: said };
    }
  }
}

/** A line of Base64 with the lines after it, to the first that is shorter. */
function joinedLines(text: string, first: string, firstEnd: number) {
  const lines = [first];
  let end = firstEnd;
  for (;;) {
    NEXT_LINE.lastIndex = end;
    const next = NEXT_LINE.exec(text);
    if (!next) break;
    lines.push(next[1] ?? "");
    end += next[0].length;
    if (lines.at(-1)?.length !== first.length) break;
  }
  return { letters: lines.join(""), end };
}

const NEXT_LINE = /\r?\n([\w+/-]+=*)/y;

/** The first bytes, by which data is told from text. */
const SAMPLE = 12;

/** Bytes as text; `undefined` when a short part of them shows that they are none. */
function textOf(bytes: Buffer): string | undefined {
  const isShort = bytes.length <= 64;
  if (isShort && bytes.subarray(0, SAMPLE).some((byte) => byte < 9 || (byte > 13 && byte < 32))) {
    return undefined;
  }
  const text = bytes.toString("utf8");
  return isShort && text.includes("\ufffd") ? undefined : text;
}

const ESCAPED = /(?:%[\dA-Fa-f]{2})+|\\u[\dA-Fa-f]{4}/g;

/** A text with the escapes of addresses and of JSON written out, and where each part of it stands. */
export interface Unescaped {
  readonly text: string;
  /** The place in the original text: of the character at `at`, or of the end before it. */
  place(at: number, side: "start" | "end"): number;
}

/** The text without escapes such as `%20` and `\u00e9`; `undefined` when it has none. */
export function unescaped(text: string): Unescaped | undefined {
  if (!text.includes("%") && !text.includes("\\u")) return undefined;
  const pieces: { readonly at: number; readonly length: number; from: number; to: number }[] = [];
  let plain = "";
  let done = 0;
  for (const { 0: escaped, index: from } of text.matchAll(ESCAPED)) {
    plain += text.slice(done, from);
    const said = written(escaped);
    done = from + escaped.length;
    pieces.push({ at: plain.length, length: said.length, from, to: done });
    plain += said;
  }
  if (pieces.length === 0) return undefined;
  plain += text.slice(done);
  const place = (at: number, side: "start" | "end") => {
    const inside = side === "start" ? at : at - 1;
    const piece = lastBefore(pieces, inside);
    if (!piece) return at;
    if (inside < piece.at + piece.length) return side === "start" ? piece.from : piece.to;
    return piece.to + at - piece.at - piece.length;
  };
  return { text: plain, place };
}

/** The last of the pieces that begins at `at` or before. */
function lastBefore<Piece extends { readonly at: number }>(
  pieces: readonly Piece[],
  at: number,
): Piece | undefined {
  let [low, high] = [0, pieces.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((pieces[middle]?.at ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return pieces[low - 1];
}

function written(escaped: string): string {
  if (escaped.startsWith("%")) {
    return Buffer.from(escaped.replaceAll("%", ""), "hex").toString("utf8");
  }
  return String.fromCharCode(Number.parseInt(escaped.slice(2), 16));
}
