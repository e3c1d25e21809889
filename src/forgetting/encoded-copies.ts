import { normalForm } from "../text/character-kinds.ts";

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
const WRAPPED_MIN = 16;
const HEX = /(?:[ :,-]{0,2}(?:\\x|0x)?[\dA-Fa-f]{2}){6,}/g;
const BYTE = /(?:\\x|0x)?([\dA-Fa-f]{2})/g;

/** Other ways to write bytes, and the bytes of a part that is written so. */
const WRITINGS: readonly (readonly [form: RegExp, bytesOf: (found: string) => Buffer])[] = [
  // Lines with a place, sixteen bytes and the characters that they are.
  [
    /(?:(?<!\w)[\dA-Fa-f]{6,8}:?[ \t]{1,3}(?:[\dA-Fa-f]{2,4}[ \t]{1,2}){4,}[^\n]*\n?)+/g,
    (found) => {
      const lines = found.matchAll(
        /(?<!\w)[\dA-Fa-f]{6,8}:?[ \t]{1,3}((?:[\dA-Fa-f]{2,4}[ \t]{1,2}){4,})/g,
      );
      const digits = Array.from(lines, ([, line = ""]) => line.replace(/\s/g, "").slice(0, 32));
      return Buffer.from(digits.join(""), "hex");
    },
  ],
  // A list of numbers, as a buffer is in JSON.
  [
    /\b\d{1,3}(?:[,\s]{1,10}\d{1,3}){11,}\b/g,
    (found) => Buffer.from(found.split(/[,\s]+/).map(Number)),
  ],
  [
    /\b[01]{8}(?:[ ,]?[01]{8}){5,}\b/g,
    (found) => Buffer.from(found.match(/[01]{8}/g)?.map((bits) => Number.parseInt(bits, 2)) ?? []),
  ],
  [/\b[A-Z2-7]{20,}/g, bytesOfBase32],
];

function bytesOfBase32(letters: string): Buffer {
  const bytes: number[] = [];
  let [bits, count] = [0, 0];
  for (const letter of letters) {
    bits = ((bits << 5) | "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter)) & 0xfff;
    count += 5;
    if (count < 8) continue;
    count -= 8;
    bytes.push((bits >> count) & 255);
  }
  return Buffer.from(bytes);
}

/** The parts of a text that may be bytes in another writing, as the texts that they stand for. */
export function* encodedParts(text: string): Generator<EncodedPart> {
  yield* base64Parts(text);
  for (const { 0: found, index: start } of text.matchAll(HEX)) {
    const digits = found.replace(BYTE, "$1").replace(/[^\dA-Fa-f]/g, "");
    const end = start + found.length;
    for (const some of [digits, digits.slice(1)]) {
      const said = textOf(Buffer.from(some.slice(0, some.length & ~1), "hex"));
      if (said !== undefined) yield { start, end, text: said };
    }
  }
  for (const [form, bytesOf] of WRITINGS) {
    for (const { 0: found, index: start } of text.matchAll(form)) {
      const said = textOf(bytesOf(found));
      if (said !== undefined) yield { start, end: start + found.length, text: said };
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
    // The text before it may be of the same characters.
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

const NEXT_LINE = /\r?\n[ \t>]*([\w+/-]+=*)/y;

/** The first bytes, by which data is told from text. */
const SAMPLE = 12;

/** Bytes as text; `undefined` when a short part of them shows that they are none. */
function textOf(bytes: Buffer): string | undefined {
  if (bytes.length > SAMPLE && bytes[1] === 0 && bytes[3] === 0) return bytes.toString("utf16le");
  if (bytes.length > SAMPLE && bytes[0] === 0 && bytes[2] === 0) {
    const pairs = Buffer.from(bytes.subarray(0, bytes.length & ~1));
    return pairs.swap16().toString("utf16le");
  }
  const isShort = bytes.length <= 64;
  if (isShort && bytes.subarray(0, SAMPLE).some((byte) => byte < 9 || (byte > 13 && byte < 32))) {
    return undefined;
  }
  const text = bytes.toString("utf8");
  return isShort && text.includes("\ufffd") ? undefined : text;
}

/** The ways to write a character, and the characters that can stand between others without being seen. */
const ESCAPED = new RegExp(
  [
    "(?:%[\\dA-Fa-f]{2})+",
    "\\\\{1,4}u(?:[\\dA-Fa-f]{4}|\\{[\\dA-Fa-f]{1,6}\\})",
    "(?:\\\\x[\\dA-Fa-f]{2})+",
    "(?:\\\\[0-3][0-7]{2})+",
    "(?:=[\\dA-F]{2}){2,}",
    "=\\r?\\n",
    "&(?:#\\d{1,7}|#[xX][\\dA-Fa-f]{1,6}|nbsp|amp|quot|apos|shy);",
    "[\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufe00-\\ufe0f\\ufeff\\u{e0000}-\\u{e01ef}]+",
    // Letters that are wide, bold, circled or small, and letters with their accents apart.
    "[\\uff01-\\uff5e\\u{1d400}-\\u{1d7ff}\\u24b6-\\u24e9\\u2070-\\u209c\\ufb00-\\ufb06]+",
    "(?:\\p{L}\\p{M}+)+",
    // The signs between the digits of a long number, and the spaces of a word that is s p a c e d.
    "(?<=\\d)[,.'’_ \\u00a0\\u202f](?=\\d{3}(?!\\d))",
    "(?<=(?<![\\p{L}\\p{N}])[\\p{L}\\p{N}]) (?=[\\p{L}\\p{N}](?![\\p{L}\\p{N}]))",
  ].join("|"),
  "gu",
);

/** A text with the escapes of addresses and of JSON written out, and where each part of it stands. */
export interface Unescaped {
  readonly text: string;
  /** The place in the original text: of the character at `at`, or of the end before it. */
  place(at: number, side: "start" | "end"): number;
}

/** The text without escapes such as `%20`, `\u00e9` and `&#233;`; `undefined` when it has none. */
export function unescaped(text: string): Unescaped | undefined {
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
  const digits = escaped.replace(/[^\dA-Fa-f]/g, "");
  switch (escaped[0]) {
    case "%":
      return Buffer.from(digits, "hex").toString("utf8");
    case "=":
      return escaped[1] === "\n" || escaped[1] === "\r"
        ? ""
        : Buffer.from(digits, "hex").toString("utf8");
    case "&":
      return ofEntity(escaped);
    case "\\": {
      if (/^\\+u/.test(escaped)) return character(Number.parseInt(digits, 16));
      const bytes = escaped[1] === "x" ? Buffer.from(digits, "hex") : ofOctal(escaped);
      return bytes.toString("utf8");
    }
    default:
      return /^[\p{L}\p{N}\p{S}\uff01-\uff5e]/u.test(escaped) ? normalForm(escaped, "NFKC") : "";
  }
}

function ofOctal(escaped: string): Buffer {
  return Buffer.from(escaped.match(/[0-7]{3}/g)?.map((digits) => Number.parseInt(digits, 8)) ?? []);
}

const ENTITIES: Readonly<Record<string, string>> = { nbsp: " ", amp: "&", quot: '"', apos: "'" };

function ofEntity(entity: string): string {
  const name = entity.slice(1, -1);
  if (!name.startsWith("#")) return ENTITIES[name] ?? "";
  const isHex = /^#x/i.test(name);
  return character(Number.parseInt(name.slice(isHex ? 2 : 1), isHex ? 16 : 10));
}

function character(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : "";
}
