import type { WordBlockRow } from "../index-store.ts";
import { WordBlock } from "./word-block.ts";
import { WordBlocks } from "./word-blocks.ts";
import { compareWords } from "./word-order.ts";

/** Some consecutive blocks of a segment, of which at most `limit` were asked for. */
export class BlockPage extends WordBlocks {
  /** The word that may continue behind the page; `undefined` when nothing is behind it. */
  readonly end: string | undefined;

  constructor(rows: readonly WordBlockRow[], limit: number) {
    super(rows);
    const last = rows.length < limit ? undefined : rows.at(-1);
    const block = last && new WordBlock(last.data);
    this.end = block && block.count > 0 ? block.word(block.count - 1) : undefined;
  }
}

/** The first word that some page may not have whole; `undefined` when every page is the last of its segment. */
export function endOf(pages: readonly BlockPage[]): string | undefined {
  const ends = pages.flatMap(({ end }) => end ?? []);
  return ends.length === 0 ? undefined : ends.reduce((a, b) => (compareWords(a, b) < 0 ? a : b));
}
