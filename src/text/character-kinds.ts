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
