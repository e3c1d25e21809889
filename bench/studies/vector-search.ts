import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Embedder } from "../../src/core/embedder.ts";
import { OpenIndex } from "../../src/indexing/open-index.ts";
import { runSync } from "../../src/indexing/port/asking.ts";
import type { CodeTable, SlotBitmap } from "../../src/indexing/vectors/code-table.ts";
import { compareRows, nearestVectors } from "../../src/indexing/vectors/search-vectors.ts";
import type { Connection } from "../../src/stores/sqlite/connection.ts";
import { openDatabase } from "../../src/stores/sqlite/database.ts";
import { openConnection } from "../../src/stores/sqlite/open-connection.ts";
import { SqliteIndexStore } from "../../src/stores/sqlite/sqlite-index-store.ts";
import { SqliteMemoryStore } from "../../src/stores/sqlite/sqlite-memory-store.ts";

/**
 * The nearest ten vectors among many: how fast, and how many of the exact ten.
 *
 *     node bench/studies/vector-search.ts [--sizes 10000,100000] [--dimensions 384] [--queries 50]
 *     node bench/studies/vector-search.ts --vectors vectors.f32 --dimensions 384
 *
 * "exact" compares every vector in plain TypeScript, 32-bit floats in memory. Vectors lie around
 * one centre for each hundred, or are those of a file (`vector-recall.ts` says how to make one).
 * A million takes some minutes and 4 GB: --sizes 1000000.
 */
const BATCH = 500;

await main();

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      sizes: { type: "string", default: "10000,100000" },
      dimensions: { type: "string", default: "384" },
      queries: { type: "string", default: "50" },
      vectors: { type: "string" },
    },
  });
  const dimensions = Number(values.dimensions);
  const file = values.vectors === undefined ? undefined : readVectors(values.vectors, dimensions);
  const sizes = file ? [file.length] : values.sizes.split(",").map(Number);
  for (const size of sizes) {
    const vectors = file ?? clustered(size, dimensions);
    await measure(vectors, dimensions, Number(values.queries));
  }
}

async function measure(
  vectors: readonly Float32Array[],
  dimensions: number,
  count: number,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "rkat-vectors-"));
  const path = join(folder, "rkat.db");
  try {
    const filledMs = await fill(path, vectors, dimensions);
    const db = openConnection(path);
    const store = new SqliteIndexStore(db, "default");
    const index = new OpenIndex();
    const opening = performance.now();
    runSync(index.catchUp({ words: [], embedder: "bench" }), store);
    const { table, space } = index.vectors;
    if (!table || !space) throw new Error("Nothing was embedded.");
    const openMs = performance.now() - opening;
    const slots = slotsOf(db);
    const queries = Array.from({ length: count }, (_, index) =>
      near(vectors[(index * 7919) % vectors.length] as Float32Array),
    );
    // In a transaction, as every search of the store is.
    const search = (vector: Float32Array, wanted?: SlotBitmap) =>
      db.read(() => {
        const question = table.ask(vector);
        const slots = nearestVectors(question, { wanted, among: table.count });
        const known = slots.map((slot) => ({ slot, row: index.vectors.row(slot) }));
        const unread = known.filter(({ row }) => !row).map(({ slot }) => slot);
        const read = store.vectorRows(space.number, unread);
        index.vectors.keep(read);
        const rows = [...known, ...read].flatMap(({ slot, row }) => (row ? [{ slot, row }] : []));
        return compareRows(question, rows);
      });
    const tenth = everySlot(slots, 10);
    // Warm: the first searches also compile.
    for (const vector of queries.slice(0, 20)) search(vector);
    const times: Record<"found" | "exact" | "scanned" | "filtered", number[]> = {
      found: [],
      exact: [],
      scanned: [],
      filtered: [],
    };
    let right = 0;
    for (const vector of queries) {
      const found = timed(times.found, () => search(vector)).slice(0, 10);
      timed(times.scanned, () => scan(table, vector));
      timed(times.filtered, () => search(vector, tenth));
      const exact = new Set(
        timed(times.exact, () => exactTen(vectors, vector)).map((at) => slots[at]),
      );
      right += found.filter(({ slot }) => exact.has(slot)).length;
    }
    const exact = quantile(times.exact, 0.5);
    const row = (name: string, list: number[]) =>
      `  ${name.padEnd(28)} p50 ${ms(quantile(list, 0.5))}  p99 ${ms(quantile(list, 0.99))}  ${(exact / quantile(list, 0.5)).toFixed(0)} × exact`;
    console.log(`${vectors.length} vectors of ${dimensions} dimensions`);
    console.log(row("exact", times.exact));
    console.log(row("nearest", times.found));
    console.log(row("of it the codes", times.scanned));
    console.log(row("one in ten wanted", times.filtered));
    console.log(
      `  recall@10 ${(right / queries.length / 10).toFixed(4)}; codes loaded in ${ms(openMs)}; stored ${Math.round((1000 * vectors.length) / filledMs)} a second; ${(statSync(path).size / vectors.length).toFixed(0)} bytes on disk each, with text and words`,
    );
    db.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What a search does before it reads anything from disk. */
function scan(table: CodeTable, vector: Float32Array) {
  return table.ask(vector).nearest({ scanned: 500, best: 128 });
}

/** Stores a short text for each vector, and lets the queue do the rest. */
async function fill(
  path: string,
  vectors: readonly Float32Array[],
  dimensions: number,
): Promise<number> {
  const embedder: Embedder = {
    id: "bench",
    dimensions,
    trained: true,
    // Those that it is calibrated with have no number.
    embed: async (texts) =>
      texts.map((text) => vectors[Number(/^note (\d+)$/.exec(text)?.[1] ?? 0)] as Float32Array),
  };
  const store = new SqliteMemoryStore(openDatabase({ path }));
  for (let start = 0; start < vectors.length; start += BATCH) {
    await store.add(
      Array.from({ length: Math.min(BATCH, vectors.length - start) }, (_, index) => ({
        id: `${start + index}`,
        content: `note ${start + index}`,
        sessionId: `${Math.floor(start / 1000)}`,
        turn: 0,
        kind: "message" as const,
      })),
    );
  }
  await store.close();
  const embedding = new SqliteMemoryStore(openDatabase({ path }), { embedder });
  const started = performance.now();
  await embedding.finishEmbedding();
  const took = performance.now() - started;
  await embedding.close();
  return took;
}

/** The slot of each vector, by its number. */
function slotsOf(db: Connection): number[] {
  const slots: number[] = [];
  for (const { id, slot } of db.iterate<{ id: string; slot: number }>(
    "SELECT id, slot FROM memory_entry",
  )) {
    slots[Number(id)] = slot;
  }
  return slots;
}

function everySlot(slots: readonly number[], nth: number): SlotBitmap {
  const wanted = new Uint32Array(Math.ceil((Math.max(...slots.slice(-1000)) + 4096) / 32));
  slots.forEach((slot, index) => {
    if (index % nth === 0) wanted[slot >> 5] = (wanted[slot >> 5] ?? 0) | (1 << (slot & 31));
  });
  return wanted;
}

function exactTen(vectors: readonly Float32Array[], query: Float32Array): number[] {
  const best: { at: number; similarity: number }[] = [];
  vectors.forEach((vector, at) => {
    let similarity = 0;
    for (let index = 0; index < vector.length; index += 1) {
      similarity += (vector[index] ?? 0) * (query[index] ?? 0);
    }
    if (best.length === 10 && similarity <= (best[9]?.similarity ?? 0)) return;
    best.push({ at, similarity });
    best.sort((one, other) => other.similarity - one.similarity);
    best.length = Math.min(best.length, 10);
  });
  return best.map(({ at }) => at);
}

function readVectors(path: string, dimensions: number): Float32Array[] {
  const bytes = readFileSync(path);
  const numbers = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  return Array.from({ length: numbers.length / dimensions }, (_, at) =>
    numbers.subarray(at * dimensions, (at + 1) * dimensions),
  );
}

function clustered(count: number, dimensions: number): Float32Array[] {
  const centres = Array.from({ length: Math.max(10, count / 100) }, () => random(dimensions));
  return Array.from({ length: count }, (_, index) => {
    const centre = centres[index % centres.length] as Float32Array;
    const noise = random(dimensions);
    return normal(centre.map((number, at) => number + 0.8 * (noise[at] ?? 0)));
  });
}

/** A query: what is asked for is not quite what was said. */
function near(vector: Float32Array): Float32Array {
  const noise = random(vector.length);
  return normal(vector.map((number, at) => number + 0.6 * (noise[at] ?? 0)));
}

function random(dimensions: number): Float32Array {
  const numbers = Float32Array.from(
    { length: dimensions },
    () => Math.random() + Math.random() + Math.random() + Math.random() - 2,
  );
  return normal(numbers);
}

function normal(vector: Float32Array): Float32Array {
  let sum = 0;
  for (const number of vector) sum += number * number;
  const length = Math.sqrt(sum);
  return vector.map((number) => number / length);
}

function timed<Result>(times: number[], work: () => Result): Result {
  const start = performance.now();
  const result = work();
  times.push(performance.now() - start);
  return result;
}

function quantile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

function ms(time: number): string {
  return `${time.toFixed(2).padStart(7)} ms`;
}
