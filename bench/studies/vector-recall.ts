import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Embedder } from "../../src/core/embedder.ts";
import type { MemoryEntry } from "../../src/core/memory-store.ts";
import { passages } from "../../src/search/passages.ts";
import { openDatabase } from "../../src/stores/sqlite/database.ts";
import { SqliteMemoryStore } from "../../src/stores/sqlite/sqlite-memory-store.ts";
import { CALIBRATION_PAIRS } from "../../src/vectors/calibration.ts";

/**
 * What the vectors of a real model add to a search by words.
 *
 *     node bench/studies/vector-recall.ts --data FOLDER --texts texts.jsonl       writes what is to be embedded
 *     node bench/studies/vector-recall.ts --data FOLDER --texts texts.jsonl --vectors vectors.f32
 *
 * FOLDER is that of `ranking-recall.ts`. `texts.jsonl` has a JSON string a line; `vectors.f32` is made by
 * a model of your own: for each line its vector of length 1, as 32-bit floats, little-endian. The
 * order of the answers by vectors alone is that of their exact cosines.
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

/** Questions about nothing that anybody in the sets talks about. */
const ELSEWHERE = [
  "What is the boiling point of tungsten hexafluoride?",
  "Who won the football world cup of 1954?",
  "What is the capital of Burkina Faso?",
  "When was the Peace of Westphalia signed?",
  "How many moons does Neptune have?",
  "What does a mitochondrion do in a cell?",
  "Which enzyme unwinds the double helix?",
  "Who composed the Brandenburg concertos?",
  "How is the gross domestic product of Mongolia made up?",
  "What is the half-life of caesium?",
  "Where does the river Zambezi rise?",
  "How do you castle in chess?",
];

const MEASURES = ["R@1", "R@5", "R@10", "MRR"] as const;
type Measures = Record<(typeof MEASURES)[number], number>;

await main();

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      data: { type: "string", default: "../shared/bench/data" },
      set: { type: "string", default: "locomo,realtalk,beam128k" },
      texts: { type: "string", default: "texts.jsonl" },
      vectors: { type: "string" },
    },
  });
  if (!existsSync(values.data)) {
    console.log(`Skipped: there is no folder ${values.data}; name one with --data.`);
    return;
  }
  const sets = values.set.split(",").map((name) => ({
    name,
    docs: readLines<Doc>(join(values.data, name, "docs.jsonl")),
    asked: readLines<Asked>(join(values.data, name, "queries.jsonl")),
  }));
  if (values.vectors === undefined) {
    const texts = sets.flatMap(({ docs, asked }) => [
      ...docs.flatMap(({ text }) => passages(text)),
      ...asked.map(({ text }) => text),
    ]);
    const all = new Set([...CALIBRATION_PAIRS.flat(), ...ELSEWHERE, ...texts]);
    writeFileSync(values.texts, [...all].map((text) => `${JSON.stringify(text)}\n`).join(""));
    console.log(`${values.texts} has ${all.size} texts to embed; give the vectors with --vectors.`);
    return;
  }
  const embedder = readEmbedder(readLines<string>(values.texts), values.vectors);
  console.log(
    [
      "set".padEnd(9),
      "store ",
      "by".padEnd(8),
      " asked",
      ...MEASURES.map(cell),
      "  none",
      " wrong",
    ].join(" "),
  );
  for (const { name, docs, asked } of sets) {
    const convs = [...new Set(asked.map(({ conv }) => conv))];
    const each = convs.map((conv) => ({
      docs: docs.filter((doc) => doc.conv === conv),
      asked: asked.filter((question) => question.conv === conv),
    }));
    await report(name, "each", each, embedder);
    await report(name, "pooled", [{ docs, asked }], embedder);
  }
}

interface Group {
  readonly docs: readonly Doc[];
  readonly asked: readonly Asked[];
}

async function report(
  set: string,
  store: string,
  groups: readonly Group[],
  embedder: FileEmbedder,
): Promise<void> {
  const ways = {
    words: (group: Group) => withStore(group.docs, undefined),
    vectors: (group: Group) => byCosine(group.docs, embedder),
    both: (group: Group) => withStore(group.docs, embedder),
  };
  for (const [way, open] of Object.entries(ways)) {
    const rows: Measures[] = [];
    let none = 0;
    let wrong = 0;
    for (const group of groups) {
      const { find, close } = await open(group);
      for (const { text, relevant } of group.asked) {
        const found = await find(text);
        if (found.length === 0) none += 1;
        rows.push(measure(found, new Set(relevant)));
      }
      for (const text of ELSEWHERE) if ((await find(text)).length > 0) wrong += 1;
      await close();
    }
    const means = MEASURES.map((name) =>
      percent(
        rows.reduce((sum, row) => sum + row[name], 0),
        rows.length,
      ),
    );
    const counts = [percent(none, rows.length), percent(wrong, ELSEWHERE.length * groups.length)];
    console.log(
      [
        set.padEnd(9),
        store.padEnd(6),
        way.padEnd(8),
        String(rows.length).padStart(6),
        ...means,
        ...counts,
      ].join(" "),
    );
  }
}

async function withStore(docs: readonly Doc[], embedder: Embedder | undefined) {
  const folder = mkdtempSync(join(tmpdir(), "rkat-recall-"));
  const database = openDatabase({ path: join(folder, "rkat.db") });
  const memory = new SqliteMemoryStore(database, embedder ? { embedder } : {});
  for (let start = 0; start < docs.length; start += 100) {
    await memory.add(docs.slice(start, start + 100).map(entryOf));
  }
  await memory.finishEmbedding();
  return {
    find: async (query: string) => (await memory.search({ query, limit: 10 })).map(({ id }) => id),
    close: async () => {
      await memory.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function byCosine(docs: readonly Doc[], embedder: FileEmbedder) {
  const all = docs.map(({ id, text }) => ({
    id,
    vectors: passages(text).map((part) => embedder.of(part)),
  }));
  return {
    find: async (query: string) => {
      const asked = embedder.of(query);
      return all
        .map(({ id, vectors }) => ({
          id,
          best: Math.max(...vectors.map((vector) => dot(vector, asked))),
        }))
        .sort((one, other) => other.best - one.best)
        .slice(0, 10)
        .map(({ id }) => id);
    },
    close: async () => {},
  };
}

interface FileEmbedder extends Embedder {
  of(text: string): Float32Array;
}

function readEmbedder(texts: readonly string[], file: string): FileEmbedder {
  const bytes = readFileSync(file);
  const numbers = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const dimensions = numbers.length / texts.length;
  const places = new Map(texts.map((text, index) => [text, index]));
  const of = (text: string) => {
    const place = places.get(text);
    if (place === undefined) throw new Error(`There is no vector of ${JSON.stringify(text)}.`);
    return numbers.slice(place * dimensions, (place + 1) * dimensions);
  };
  return {
    id: `file/${dimensions}`,
    dimensions,
    trained: true,
    of,
    embed: async (all) => all.map(of),
  };
}

function measure(found: readonly string[], relevant: ReadonlySet<string>): Measures {
  const at = (k: number) =>
    found.slice(0, k).filter((id) => relevant.has(id)).length / relevant.size;
  const first = found.findIndex((id) => relevant.has(id));
  return { "R@1": at(1), "R@5": at(5), "R@10": at(10), MRR: first < 0 ? 0 : 1 / (first + 1) };
}

function entryOf({ id, conv, session, turn, speaker, time, text }: Doc): MemoryEntry {
  const sessionId = `${conv}/${session}`;
  const role = speaker === "user" || speaker === "assistant" ? { role: speaker } : {};
  return { id, content: text, sessionId, turn, kind: "message", time, speaker, ...role };
}

function dot(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < one.length; index += 1)
    sum += (one[index] ?? 0) * (other[index] ?? 0);
  return sum;
}

function readLines<Line>(file: string): Line[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

function percent(part: number, whole: number): string {
  return cell(((100 * part) / whole).toFixed(1));
}

function cell(text: string): string {
  return text.padStart(6);
}
