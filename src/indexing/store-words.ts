import type { OpenIndex } from "./open-index.ts";
import type { Asking } from "./port/asking.ts";

/** Words of a store by how they begin, read from its index. */
export class StoreWords {
  readonly #index: OpenIndex;
  readonly #lists = new Map<string, readonly string[]>();

  constructor(index: OpenIndex) {
    this.#index = index;
  }

  *read(letters: Iterable<string>): Asking<void> {
    for (const letter of new Set(letters)) {
      if (!this.#lists.has(letter))
        this.#lists.set(letter, yield* this.#index.wordsBeginningWith(letter));
    }
  }

  /** One word a line, for each segment of the index; none of letters that were not read. */
  listsOf(letter: string): readonly string[] {
    return this.#lists.get(letter) ?? [];
  }

  /** Words that begin so, each once, at most `BEGINNING_MAX` of a segment. */
  beginningWith(beginning: string): Set<string> {
    const found = new Set<string>();
    for (const list of this.listsOf(beginning.slice(0, 1))) {
      let at = list.startsWith(beginning) ? 0 : list.indexOf(`\n${beginning}`) + 1;
      if (at === 0 && !list.startsWith(beginning)) continue;
      for (let count = 0; count < BEGINNING_MAX && list.startsWith(beginning, at); count += 1) {
        const end = lineEnd(list, at);
        found.add(list.slice(at, end));
        at = end + 1;
      }
    }
    return found;
  }

  /** Words that are a word but for their hyphens. */
  hyphenated(word: string): string[] {
    const found = new Set<string>();
    for (const list of this.listsOf(word.slice(0, 1))) {
      for (let at = list.indexOf("-"); at >= 0; at = list.indexOf("-", at + 1)) {
        const start = list.lastIndexOf("\n", at) + 1;
        // Few words have the same letters before their first hyphen.
        if (!word.startsWith(list.slice(start, at).replaceAll("-", ""))) continue;
        const other = list.slice(start, lineEnd(list, at));
        if (other.replaceAll("-", "") === word) found.add(other);
      }
    }
    return [...found];
  }

  /** Words of the letters that were read in which something stands behind their beginning. */
  containing(part: string): Set<string> {
    const found = new Set<string>();
    for (const lists of this.#lists.values()) {
      for (const list of lists) {
        for (let at = list.indexOf(part); at >= 0; at = list.indexOf(part, at + 1)) {
          const start = list.lastIndexOf("\n", at) + 1;
          if (start < at) found.add(list.slice(start, lineEnd(list, at)));
          if (found.size === CONTAINING_MAX) return found;
        }
      }
    }
    return found;
  }
}

const BEGINNING_MAX = 2000;
const CONTAINING_MAX = 1000;

function lineEnd(list: string, from: number): number {
  const end = list.indexOf("\n", from);
  return end < 0 ? list.length : end;
}
