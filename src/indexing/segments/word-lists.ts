import { type Asking, ask } from "../port/asking.ts";
import type { Segment } from "../port/index-store.ts";
import { wordBytes } from "./word-block.ts";
import { WordBlocks } from "./word-blocks.ts";

/** Maximum characters of lists that stay in memory. */
const CHARACTERS_MAX = 4_000_000;

/**
 * The words of an index by their first letter, one list for each segment, one word a line. They are read when a question
 * has a word that no entry has, and kept as long as their segment.
 */
export class WordLists {
  readonly #charactersMax: number;
  readonly #lists = new Map<number, Map<string, string>>();
  #characters = 0;

  constructor(charactersMax = CHARACTERS_MAX) {
    this.#charactersMax = charactersMax;
  }

  get bytes(): number {
    return this.#characters;
  }

  clear(): void {
    this.#lists.clear();
    this.#characters = 0;
  }

  /** The lists of `segments` for a letter. Those in `loaded` are in memory. */
  *of(
    letter: string,
    segments: readonly Segment[],
    loaded: ReadonlyMap<number, WordBlocks>,
  ): Asking<readonly string[]> {
    this.#forgetOthers(segments);
    const from = wordBytes(letter);
    const unread = segments.filter(
      ({ number }) => !loaded.has(number) && !this.#lists.get(number)?.has(letter),
    );
    const to = Buffer.concat([from, LAST]);
    const rows =
      unread.length > 0
        ? yield* ask(
            "wordBlocks",
            unread.map(({ number }) => ({ segment: number, from, to })),
          )
        : [];
    // Keeping a list may drop others, so those of now are noted first.
    const known = segments.map(({ number }) => this.#lists.get(number)?.get(letter));
    const read = new Map(unread.map(({ number }, at) => [number, new WordBlocks(rows[at] ?? [])]));
    return segments.map(({ number }, at) => {
      const blocks = loaded.get(number) ?? read.get(number);
      return known[at] ?? this.#keep(number, letter, blocks?.beginningWith(letter) ?? []);
    });
  }

  #keep(segment: number, letter: string, words: readonly string[]): string {
    const list = words.join("\n");
    if (this.#characters + list.length > this.#charactersMax) this.clear();
    const lists = this.#lists.get(segment) ?? new Map<string, string>();
    this.#lists.set(segment, lists.set(letter, list));
    this.#characters += list.length;
    return list;
  }

  #forgetOthers(segments: readonly Segment[]): void {
    const left = new Set(segments.map(({ number }) => number));
    for (const [number, lists] of this.#lists) {
      if (left.has(number)) continue;
      for (const list of lists.values()) this.#characters -= list.length;
      this.#lists.delete(number);
    }
  }
}

/** No character begins with this byte in UTF-8. */
const LAST = Uint8Array.of(255);
