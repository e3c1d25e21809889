import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MemoryEntry } from "../src/core/memory-store.ts";
import { openDatabase } from "../src/stores/sqlite/database.ts";
import { SqliteMemoryStore } from "../src/stores/sqlite/sqlite-memory-store.ts";

/**
 * What memory costs as it grows: entries added a second, time of a search, bytes
 * on disk for a byte of text.
 *
 *     node bench/memory-cost.ts
 *
 * The texts are made up: 8 to 40 words a message, each word as frequent as its
 * rank says (Zipf), 40 messages a session. A question is six words of one of
 * them, none among the hundred most frequent.
 */

const SIZES = [1_000, 10_000, 100_000];
const BATCH = 100;
const QUESTIONS = 200;
const VOCABULARY = 30_000;
const FREQUENT = 100;

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "rkat-memory-"));
  const path = join(folder, "rkat.db");
  const memory = new SqliteMemoryStore(openDatabase({ path }));
  const random = randomFrom(1);
  const texts: string[] = [];
  console.log("entries   added/s   search p50 ms   p95 ms   disk/text");
  try {
    for (const size of SIZES) {
      const before = texts.length;
      let addMs = 0;
      while (texts.length < size) {
        const batch = Array.from({ length: BATCH }, () => entry(texts, random));
        const start = performance.now();
        await memory.add(batch);
        addMs += performance.now() - start;
      }
      const searchMs: number[] = [];
      for (let asked = 0; asked < QUESTIONS; asked += 1) {
        const query = question(texts, random);
        const start = performance.now();
        await memory.search({ query, limit: 10 });
        searchMs.push(performance.now() - start);
      }
      searchMs.sort((one, other) => one - other);
      const { textBytes } = await memory.stats();
      console.log(
        [
          String(size).padStart(7),
          ((1000 * (texts.length - before)) / addMs).toFixed(0).padStart(9),
          (searchMs[QUESTIONS / 2] ?? 0).toFixed(1).padStart(15),
          (searchMs[Math.floor(QUESTIONS * 0.95)] ?? 0).toFixed(1).padStart(8),
          (bytesOf(path) / textBytes).toFixed(2).padStart(11),
        ].join(" "),
      );
    }
  } finally {
    await memory.close();
    rmSync(folder, { recursive: true });
  }
}

/** The store and its write-ahead log. */
function bytesOf(path: string): number {
  return statSync(path).size + statSync(`${path}-wal`).size;
}

function entry(texts: string[], random: () => number): MemoryEntry {
  const number = texts.length;
  const words = Array.from({ length: 8 + Math.floor(32 * random()) }, () => word(rank(random)));
  texts.push(`${words.join(" ")}.`);
  return {
    id: `entry-${number}`,
    content: texts[number] ?? "",
    sessionId: `session-${Math.floor(number / 40)}`,
    turn: number % 40,
    kind: "message",
    role: number % 2 === 0 ? "user" : "assistant",
    time: new Date(1_700_000_000_000 + number * 60_000).toISOString(),
  };
}

function question(texts: readonly string[], random: () => number): string {
  const words = (texts[Math.floor(random() * texts.length)] ?? "").slice(0, -1).split(" ");
  return words
    .filter((text) => !FREQUENT_WORDS.has(text))
    .slice(0, 6)
    .join(" ");
}

/** Zipf: rank r is drawn about as often as 1/r. */
function rank(random: () => number): number {
  return Math.floor(VOCABULARY ** random());
}

/** A made-up word for a rank: syllables, so that no two ranks share a stem. */
function word(rank: number): string {
  const syllable = "ba ko ti lu me ra so ni pe du ga vi zo fa hu".split(" ");
  let text = "";
  for (let rest = rank + 15; rest > 0; rest = Math.floor(rest / 15)) text += syllable[rest % 15];
  return `${text}x`;
}

const FREQUENT_WORDS = new Set(Array.from({ length: FREQUENT }, (_, index) => word(index)));

/** Numbers from 0 to 1, the same ones each time. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

await main();
