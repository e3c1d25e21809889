import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { MemoryEntry, MemoryStore } from "../src/core/memory-store.ts";
import { openDatabase } from "../src/stores/sqlite/database.ts";
import { SqliteMemoryStore } from "../src/stores/sqlite/sqlite-memory-store.ts";

/**
 * How many of the messages that answer a question are among the first results.
 *
 *     node bench/recall.ts --data FOLDER [--set locomo,realtalk]
 *
 * FOLDER has a folder for each set, with `docs.jsonl` (`{id, conv, session, turn,
 * speaker, time, text}`, in order) and `queries.jsonl` (`{id, conv, text, relevant}`).
 * "each" asks a store that has one conversation, "pooled" one that has them all.
 */

interface Doc {
  readonly id: string;
  readonly conv: string;
  readonly session: string;
  readonly turn: number;
  readonly speaker: string;
  readonly time: string;
  readonly text: string;
}

interface Asked {
  readonly conv: string;
  readonly text: string;
  readonly relevant: readonly string[];
}

const MEASURES = ["R@1", "R@5", "R@10", "MRR", "none"] as const;
type Measures = Record<(typeof MEASURES)[number], number>;

const BATCH = 100;

await main();

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      data: { type: "string", default: "../shared/bench/data" },
      set: { type: "string", default: "locomo,locomo-adv,realtalk,beam128k,beam128k-x" },
    },
  });
  if (!existsSync(values.data)) {
    console.log(`Skipped: there is no folder ${values.data}; name one with --data.`);
    return;
  }
  console.log(["set".padEnd(11), "store ", " asked", ...MEASURES.map(cell), "ms/query"].join(" "));
  for (const set of values.set.split(",")) {
    const docs = readLines<Doc>(join(values.data, set, "docs.jsonl"));
    const asked = readLines<Asked>(join(values.data, set, "queries.jsonl"));
    const convs = [...new Set(asked.map(({ conv }) => conv))];
    const each = convs.map((conv) => ({
      docs: docs.filter((doc) => doc.conv === conv),
      asked: asked.filter((question) => question.conv === conv),
    }));
    await report(set, "each", each);
    await report(set, "pooled", [{ docs, asked }]);
  }
}

async function report(
  set: string,
  store: string,
  groups: readonly { readonly docs: readonly Doc[]; readonly asked: readonly Asked[] }[],
): Promise<void> {
  const rows: Measures[] = [];
  let searchMs = 0;
  for (const { docs, asked } of groups) {
    await withStore(docs, async (memory) => {
      const start = performance.now();
      for (const { text, relevant } of asked) {
        const hits = await memory.search({ query: text, limit: 10 });
        rows.push(
          measure(
            hits.map(({ id }) => id),
            new Set(relevant),
          ),
        );
      }
      searchMs += performance.now() - start;
    });
  }
  const means = MEASURES.map((name) => {
    const sum = rows.reduce((total, row) => total + row[name], 0);
    return cell(((100 * sum) / rows.length).toFixed(1));
  });
  const count = String(rows.length).padStart(6);
  const ms = (searchMs / rows.length).toFixed(1).padStart(8);
  console.log([set.padEnd(11), store.padEnd(6), count, ...means, ms].join(" "));
}

/** `none`: whether there was no result at all. */
function measure(found: readonly string[], relevant: ReadonlySet<string>): Measures {
  const at = (k: number) =>
    found.slice(0, k).filter((id) => relevant.has(id)).length / relevant.size;
  const first = found.findIndex((id) => relevant.has(id));
  return {
    "R@1": at(1),
    "R@5": at(5),
    "R@10": at(10),
    MRR: first < 0 ? 0 : 1 / (first + 1),
    none: found.length === 0 ? 1 : 0,
  };
}

async function withStore(
  docs: readonly Doc[],
  use: (memory: MemoryStore) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "rkat-recall-"));
  const memory = new SqliteMemoryStore(openDatabase({ path: join(folder, "rkat.db") }));
  try {
    for (let start = 0; start < docs.length; start += BATCH) {
      await memory.add(docs.slice(start, start + BATCH).map(entryOf));
    }
    await use(memory);
  } finally {
    await memory.close();
    rmSync(folder, { recursive: true });
  }
}

function entryOf({ id, conv, session, turn, speaker, time, text }: Doc): MemoryEntry {
  const sessionId = `${conv}/${session}`;
  const role = speaker === "user" || speaker === "assistant" ? { role: speaker } : {};
  return { id, content: text, sessionId, turn, kind: "message", time, speaker, ...role };
}

function readLines<Line>(file: string): Line[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

function cell(text: string): string {
  return text.padStart(6);
}
