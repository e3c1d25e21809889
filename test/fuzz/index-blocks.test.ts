import { expect } from "vitest";
import type { Postings } from "../../src/indexing/passages/passage-index.ts";
import type { CodeBlockRow, News } from "../../src/indexing/port/index-store.ts";
import {
  BLOCK_SLOTS,
  COLUMNS,
  changedBlocks,
  newColumns,
  packColumns,
  packRecords,
  unpackRecords,
} from "../../src/indexing/segments/columns.ts";
import { LoadedColumns } from "../../src/indexing/segments/loaded-columns.ts";
import { compareWords, pairsOf, WordPlaces } from "../../src/indexing/segments/sorted-words.ts";
import {
  packWords,
  WordBlock,
  WordWriter,
  wordBytes,
} from "../../src/indexing/segments/word-block.ts";
import { blockWords } from "../../src/indexing/segments/word-blocks.ts";
import { KnownVectors } from "../../src/indexing/vectors/code-table.ts";
import {
  changedCodes,
  codeBytes,
  codedSlots,
  codeOf,
  numbersOf,
  rowBytes,
  rowOf,
} from "../../src/indexing/vectors/vector-codes.ts";
import { Vocabulary } from "../../src/indexing/words/vocabulary.ts";
import { damagedBytes, fuzz, readOrRefused } from "../support/fuzz.ts";

const WORDS = ["", "a", "fox", "東京", "z".repeat(150), ..."the quick brown dog".split(" ")].sort(
  compareWords,
);
const HITS: readonly ((place: number) => number)[] = [
  () => 1,
  (place) => place % 251,
  (place) => (place % 9 === 0 ? 7 : 1),
];

function wordsWith(count: number, step: number): (readonly [string, Postings])[] {
  return WORDS.map((word, index) => {
    const size = 1 + ((index * 7) % count);
    const slots = Uint32Array.from({ length: size }, (_, place) => index + place * step);
    const hitsOf = HITS[index % HITS.length] as (place: number) => number;
    return [word, { slots, hits: Uint8Array.from(slots.keys(), hitsOf) }];
  });
}

const SETS = [wordsWith(1, 1), wordsWith(40, 3), wordsWith(60, 70_000), wordsWith(9000, 200)];
const BLOCKS = [
  ...SETS.flatMap((words) => packWords(words) ?? []),
  ...SETS.flatMap((words) => {
    const writer = new WordWriter();
    for (const [word, postings] of words) writer.add(word, postings);
    return writer.take().map(({ data }) => data);
  }),
].filter(({ length }) => length < 5000);

fuzz(
  "a damaged block of words is refused, or read as one that could have been written",
  damagedBytes(BLOCKS),
  { short: 60, long: 1_000_000 },
  async (bytes) => {
    const read = await readOrRefused(() => [...blockWords(new WordBlock(bytes))]);
    const places = await readOrRefused(() => {
      const all = new WordPlaces(new Vocabulary());
      new WordBlock(bytes).addTo(all);
      return pairsOf(all.sorted());
    });
    for (const word of WORDS) {
      await readOrRefused(() => {
        const block = new WordBlock(bytes);
        const index = block.search(wordBytes(word));
        return block.has(index, wordBytes(word)) ? block.postings(index) : undefined;
      });
    }
    expect("refused" in places).toBe("refused" in read);
    if ("refused" in read) return;
    let count = 0;
    for (const [, { slots, hits }] of read.value) {
      count += slots.length;
      expect(hits).toHaveLength(slots.length);
      expect(slots.every((slot, at) => at === 0 || slot > (slots[at - 1] as number))).toBe(true);
    }
    expect(count).toBeLessThanOrEqual(bytes.length);
    const again = packWords(read.value);
    expect(again === null ? [] : [...blockWords(new WordBlock(again))]).toEqual(read.value);
  },
);

function someColumns(slots: number, most: number) {
  const columns = newColumns(slots);
  for (const [at, name] of COLUMNS.entries()) {
    for (let slot = 0; slot < slots; slot += 1) columns[name][slot] = (slot * (at + 3)) % most;
  }
  return columns;
}

const COLUMN_BLOCKS = [1, 200, 70_000, 2 ** 32].map((most) =>
  packColumns(someColumns(BLOCK_SLOTS, most), 0, BLOCK_SLOTS),
);

fuzz(
  "a damaged block of columns is refused, or read as one that could have been written",
  damagedBytes(COLUMN_BLOCKS),
  { short: 30, long: 1_000_000 },
  async (data) => {
    const inRoom = await readOrRefused(() => {
      const room = new LoadedColumns();
      room.clear(BLOCK_SLOTS);
      room.putBlock(0, data);
      return { ...room.upTo(BLOCK_SLOTS), ...room.details(0, BLOCK_SLOTS) };
    });
    const none = { slots: new Uint32Array(), columns: newColumns(0) };
    const changed = await readOrRefused(() =>
      changedBlocks([{ generation: 0, block: 0, changed: 0, data }], 0, 1, none),
    );
    expect("refused" in changed).toBe("refused" in inRoom);
    if ("refused" in inRoom || "refused" in changed) return;
    const written = changed.value[0]?.data ?? new Uint8Array();
    expect(written).toEqual(packColumns(inRoom.value, 0, BLOCK_SLOTS));
    expect(written.length).toBeLessThanOrEqual(data.length);
  },
);

const RECORDS = [1, 3, 40].flatMap((count) => {
  const slots = Uint32Array.from({ length: count }, (_, at) => 5 * at);
  return packRecords({ slots, columns: someColumns(count, 100 * count) }) ?? [];
});

fuzz(
  "damaged records of slots are refused, or read as ones that could have been written",
  damagedBytes(RECORDS),
  { short: 60, long: 1_000_000 },
  async (bytes) => {
    const read = await readOrRefused(() => unpackRecords(bytes));
    if ("refused" in read) return;
    const again = packRecords(read.value) ?? new Uint8Array();
    expect(4 * read.value.slots.length).toBeLessThan(bytes.length);
    expect(unpackRecords(again)).toEqual(read.value);
  },
);

const DIMENSIONS = 100;
const vectorAt = (place: number) =>
  Float32Array.from({ length: DIMENSIONS }, (_, at) => Math.sin(place * 31 + at * 7));
const SPACE = {
  ...{ number: 1, embedder: "e", dimensions: DIMENSIONS, changes: 1, passages: 1 },
  ...{ unrelated: 0, related: 1 },
};

/** A reader with little room for rows. */
function knownVectors() {
  const known = new KnownVectors(10 * rowBytes(DIMENSIONS));
  const take = (...codes: readonly CodeBlockRow[]) =>
    known.take({ space: SPACE, codes } as unknown as News);
  take();
  return { known, take };
}
const CODE_BLOCKS = [1, 7, 100].map((count) => {
  const slots = Array.from({ length: count }, (_, at) => 2 * at);
  const codes = new Map(slots.map((slot) => [slot, codeOf(vectorAt(slot))]));
  return changedCodes([], SPACE, codeBytes(DIMENSIONS), codes)[0]?.codes ?? new Uint8Array();
});

const reader = knownVectors();

fuzz(
  "a damaged block of codes is refused, or holds a whole code for each of its slots",
  damagedBytes(CODE_BLOCKS),
  { short: 30, long: 1_000_000 },
  async (codes) => {
    const row = { space: 1, block: 0, changed: 1, codes };
    const bytes = codeBytes(DIMENSIONS);
    const slots = await readOrRefused(() => codedSlots(row, bytes));
    const changed = await readOrRefused(() => changedCodes([row], SPACE, bytes, new Map()));
    const { known, take } = reader;
    const taken = await readOrRefused(() => take(row));
    const outcomes = [slots, changed, taken].map((outcome) => "refused" in outcome);
    expect(new Set(outcomes).size).toBe(1);
    if ("refused" in slots || "refused" in changed) return;
    expect(changed.value[0]?.codes).toEqual(codes);
    expect(known.table?.count).toBe(slots.value.length);
  },
);

fuzz(
  "a damaged row of a vector is refused, or has a number for each dimension",
  damagedBytes([1, 2, 3].map((place) => rowOf(vectorAt(place)))),
  { short: 60, long: 1_000_000 },
  async (row) => {
    const kept = await readOrRefused(() => reader.known.keep([{ space: 1, slot: 3, row }]));
    if ("refused" in kept) return;
    const { unit, numbers } = numbersOf(reader.known.row(3) ?? new Uint8Array());
    expect(row).toHaveLength(rowBytes(DIMENSIONS));
    expect(numbers).toHaveLength(DIMENSIONS);
    expect(unit >= 0 && Number.isFinite(unit)).toBe(true);
  },
);
