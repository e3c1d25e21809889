/** Up to this length the engine's own search is used: it compares at most so many letters at each place. */
const SHORT = 16;

/**
 * Finds a text in others, in time linear in their length, whatever both are (Knuth, Morris and Pratt). The
 * engine's `indexOf` is faster for most texts, and takes minutes for a few megabytes that somebody chose.
 */
export class TextFinder {
  readonly text: string;
  /** How long a beginning of the text is also an end of its first letters, for each number of letters. */
  readonly #borders: Int32Array;

  constructor(text: string) {
    this.text = text;
    this.#borders = text.length > SHORT ? bordersOf(text) : new Int32Array(0);
  }

  /** The first place at `from` or behind it; -1 where there is none. */
  indexIn(other: string, from = 0): number {
    const { text } = this;
    if (text.length <= SHORT) return other.indexOf(text, from);
    const borders = this.#borders;
    const first = text.charCodeAt(0);
    const { length } = text;
    let matched = 0;
    for (let at = from; at < other.length; at += 1) {
      const letter = other.charCodeAt(at);
      while (matched > 0 && text.charCodeAt(matched) !== letter) {
        matched = borders[matched - 1] as number;
      }
      if (matched > 0 || letter === first) matched += 1;
      if (matched === length) return at + 1 - matched;
    }
    return -1;
  }

  /** `other` in parts: what stands before, between and behind the places, as `split` gives it. */
  split(other: string): readonly string[] {
    const parts: string[] = [];
    let from = 0;
    for (let at = this.indexIn(other); at >= 0; at = this.indexIn(other, from)) {
      parts.push(other.slice(from, at));
      from = at + this.text.length;
    }
    return [...parts, other.slice(from)];
  }
}

function bordersOf(text: string): Int32Array {
  const borders = new Int32Array(text.length);
  let length = 0;
  for (let at = 1; at < text.length; at += 1) {
    const letter = text.charCodeAt(at);
    while (length > 0 && text.charCodeAt(length) !== letter) length = borders[length - 1] as number;
    if (text.charCodeAt(length) === letter) length += 1;
    borders[at] = length;
  }
  return borders;
}
