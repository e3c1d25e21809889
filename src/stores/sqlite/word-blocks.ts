import type { WantedBlocks, WordBlockRow } from "../../indexing/port/index-store.ts";
import type { Connection } from "./connection.ts";
import * as sql from "./index-queries.ts";
import { KEYS } from "./index-schema.ts";

type BlockRow = Omit<WordBlockRow, "segment">;

const NOTHING = new Uint8Array();

/** The word blocks of a namespace's segments. */
export class WordBlocks {
  readonly #db: Connection;
  readonly #namespace: number;

  constructor(db: Connection, namespace: number) {
    this.#db = db;
    this.#namespace = namespace;
  }

  find(wanted: WantedBlocks): WordBlockRow[] {
    if ("from" in wanted) return this.between(wanted.segment, wanted.from, wanted.to);
    if ("slots" in wanted) return this.#ofSlots(wanted.segment, wanted.word, wanted.slots);
    const key = this.#key(wanted.segment);
    const first = this.#db.get<BlockRow>(sql.LAST_BLOCK, key, wanted.start)?.first ?? NOTHING;
    return this.#rows(wanted.segment, sql.BLOCKS_FROM, first, wanted.limit);
  }

  all(segment: number): WordBlockRow[] {
    return this.#rows(segment, sql.ALL_BLOCKS);
  }

  between(segment: number, from: Uint8Array, to: Uint8Array): WordBlockRow[] {
    const block = this.#db.get<BlockRow>(sql.LAST_BLOCK, this.#key(segment), from);
    const found: WordBlockRow[] = [];
    if (block && block.slot > 0 && Buffer.compare(block.first, from) === 0) {
      found.push(...this.#rows(segment, sql.PARTS, from));
    } else if (block) found.push({ ...block, segment });
    if (to !== from) found.push(...this.#rows(segment, sql.BLOCKS_BETWEEN, from, to));
    return found;
  }

  #ofSlots(segment: number, word: Uint8Array, slots: Uint32Array): WordBlockRow[] {
    const found: WordBlockRow[] = [];
    for (const slot of slots) {
      const row = this.#db.get<BlockRow>(sql.BLOCK_OF_SLOT, this.#key(segment), word, slot);
      const last = found.at(-1);
      if (!row || (last?.slot === row.slot && Buffer.compare(last.first, row.first) === 0))
        continue;
      found.push({ ...row, segment });
      // All places of a word are in one block, unless it is a frequent one.
      if (row.slot === 0 && Buffer.compare(row.first, word) !== 0) break;
    }
    return found;
  }

  #rows(segment: number, query: string, ...values: (number | Uint8Array)[]): WordBlockRow[] {
    const rows = this.#db.all<BlockRow>(query, this.#key(segment), ...values);
    return rows.map((row) => ({ ...row, segment }));
  }

  #key(segment: number): number {
    return this.#namespace * KEYS + segment;
  }
}
