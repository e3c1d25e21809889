/** The kinds of characters, as `kindOf` tells them: a number from 1 on. Most characters are asked for once. */
export class CharacterKinds {
  /** The kinds by UTF-16 unit; 0 for those that no text had so far. */
  readonly #known = new Uint8Array(0x10000);
  /** The kinds by code point: characters of two units, and first halves that stand alone. Made for the first of them. */
  #knownLong: Uint8Array | undefined;
  readonly #kindOf: (character: string) => number;

  constructor(kindOf: (character: string) => number) {
    this.#kindOf = kindOf;
  }

  /** The kind of the character at a place of a text. */
  at(text: string, at: number): number {
    const code = text.charCodeAt(at);
    const known = this.#known[code] as number;
    if (known !== 0) return known;
    // The kind of a first half depends on the second.
    if (isHigh(code)) return this.#kindOfLong(text.codePointAt(at) as number);
    const kind = this.#kindOf(text.charAt(at));
    this.#known[code] = kind;
    return kind;
  }

  /** The same in the UTF-16 units of a text, which have one more unit behind them. */
  in(units: Uint16Array, at: number): number {
    const unit = units[at] as number;
    const known = this.#known[unit] as number;
    return known !== 0 ? known : this.at(String.fromCharCode(unit, units[at + 1] as number), 0);
  }

  #kindOfLong(point: number): number {
    this.#knownLong ??= new Uint8Array(0x110000);
    const known = this.#knownLong[point] as number;
    if (known !== 0) return known;
    const kind = this.#kindOf(String.fromCodePoint(point));
    this.#knownLong[point] = kind;
    return kind;
  }

  /** The kind of each UTF-16 unit of a text. Both halves of a character have its kind. */
  of(text: string): Uint8Array {
    const known = this.#known;
    const kinds = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at += 1) {
      const kind = known[text.charCodeAt(at)] as number;
      kinds[at] = kind;
      if (kind !== 0) continue;
      kinds[at] = this.at(text, at);
      if (sizeAt(text, at) === 1) continue;
      at += 1;
      kinds[at] = kinds[at - 1] as number;
    }
    return kinds;
  }

  /** The end of the run of characters of one kind that begins at a place. */
  endOf(kind: number, text: string, start: number): number {
    const known = this.#known;
    let at = start;
    for (; at < text.length; at += 1) {
      if (known[text.charCodeAt(at)] === kind) continue;
      if (this.at(text, at) !== kind) break;
      at += sizeAt(text, at) - 1;
    }
    return at;
  }
}

/** The number of UTF-16 units of the character at a place: 1 or 2. */
export function sizeAt(text: string, at: number): number {
  return isHigh(text.charCodeAt(at)) && (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
}

/** The same in the UTF-16 units of a text, which have one more unit behind them. */
export function sizeIn(units: Uint16Array, at: number): number {
  return isHigh(units[at] as number) && isLow(units[at + 1] as number) ? 2 : 1;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code < 0xe000;
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

/** The UTF-16 units of a text, for work that visits each of them. */
export function codesOf(text: string): Uint16Array {
  const codes = new Uint16Array(text.length);
  for (let at = 0; at < text.length; at += 1) codes[at] = text.charCodeAt(at);
  return codes;
}

/** The text of the first `length` units. */
export function textOf(codes: Uint16Array, length: number): string {
  // A spread visits the codes one by one, and takes twenty times as long.
  if (length <= AT_ONCE)
    return Reflect.apply(String.fromCharCode, undefined, codes.subarray(0, length));
  let bits = 0;
  for (let at = 0; at < length; at += 1) bits |= codes[at] as number;
  // A text of one byte a unit takes half the memory.
  if (bits < 0x100) return Buffer.from(codes.subarray(0, length)).toString("latin1");
  return Buffer.from(codes.buffer, codes.byteOffset, 2 * length).toString("utf16le");
}

/** For more units, bytes are faster than arguments of a call. */
const AT_ONCE = 64;

/** The ASCII characters that a pattern of one character matches: a 1 at the place of each. */
export function asciiSet(pattern: RegExp): Uint8Array {
  // One look at all of them: a program makes many sets at its start.
  const others = new Set(ASCII_CHARACTERS.replaceAll(new RegExp(pattern, `${pattern.flags}g`), ""));
  return asciiTable((character) => Number(!others.has(character)));
}

const ASCII_CHARACTERS = String.fromCharCode(...Array(128).keys());

/** A number for each ASCII character, and 0 for the other UTF-16 units. */
export function asciiTable(numberOf: (character: string) => number): Uint8Array {
  // A place for every unit: to read behind the end of an array is slow.
  const table = new Uint8Array(0x10000);
  for (let code = 0; code < 128; code += 1) table[code] = numberOf(String.fromCharCode(code));
  return table;
}

/** The same, with a number for each other white space too. */
export function spacedTable(numberOf: (character: string) => number): Uint8Array {
  const table = asciiTable(numberOf);
  for (const space of SPACES) table[space.charCodeAt(0)] = numberOf(space);
  return table;
}

/** The match of a sticky pattern at a place. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

export function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** Whether a pattern's `\s` matches it. */
export function isSpace(code: number): boolean {
  return IS_SPACE[code] === 1;
}

const SPACES =
  "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff";
const IS_SPACE = spacedTable((character) => Number(/\s/.test(character)));

/**
 * A Unicode pattern, compiled only for the first text that is not ASCII. ASCII texts use `ascii`.
 *
 * Node needs about half a millisecond to compile such a pattern, and compiles a literal twice while
 * it loads the file. Most texts never need it.
 */
export function unicodePattern(
  ascii: RegExp,
  unicode: { readonly source: string; readonly flags: string },
): (text: string) => RegExp {
  let made: RegExp | undefined;
  return (text) => {
    if (isAscii(text)) return ascii;
    made ??= new RegExp(unicode.source, unicode.flags);
    return made;
  };
}

export function isAscii(text: string): boolean {
  return ASCII.test(text);
}

const ASCII = /^[\0-\x7f]*$/;
/** Matches nothing. The ASCII pattern for characters that ASCII does not have. */
export const NOTHING = /(?!)/g;

/** Characters that are written onto the one before them, also after they are normalised. */
const MARK = String.raw`[\p{M}\uff9e\uff9f]`;
/** Compiled for the first text that is not ASCII. */
let beyond30: RegExp | undefined;

/**
 * A normal form of Unicode. The engine sorts the marks of a letter in a time that grows with their square, so a letter keeps 30, as in
 * the stream-safe text format of Unicode.
 */
export function normalForm(text: string, form: "NFC" | "NFKC" | "NFKD"): string {
  if (isAscii(text)) return text;
  beyond30 ??= new RegExp(`(${MARK}{30})${MARK}+`, "gu");
  return text.replace(beyond30, "$1").normalize(form);
}
