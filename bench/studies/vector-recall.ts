import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Embedder } from "../../src/core/embedder.ts";
import { passages } from "../../src/indexing/passages/indexed-passages.ts";
import { CALIBRATION_PAIRS } from "../../src/indexing/vectors/store-vectors.ts";
import type { Conversation } from "../data/conversation.ts";
import { meanMeasures, measure } from "../recall/measures.ts";
import {
  LIMIT,
  percent,
  pooled,
  readSets,
  row,
  type Search,
  STUDY_OPTIONS,
  withStore,
} from "./recall-study.ts";

/**
 * What the vectors of a real model add to a search by words.
 *
 *     node bench/studies/vector-recall.ts --data FOLDER --texts texts.jsonl       writes what to embed
 *     node bench/studies/vector-recall.ts --data FOLDER --texts texts.jsonl --vectors vectors.f32
 *
 * FOLDER is that of `ranking-recall.ts`. `texts.jsonl` has one JSON string per line. You make
 * `vectors.f32` with your model: for each line a vector of length 1, as little-endian 32-bit floats.
 * "vectors" ranks by exact cosines.
 */

/** Questions that no conversation in the sets answers. */
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

const { values } = parseArgs({
  options: {
    ...STUDY_OPTIONS,
    texts: { type: "string", default: "texts.jsonl" },
    vectors: { type: "string" },
  },
});
const sets = readSets(values);
if (values.vectors === undefined) writeTexts(values.texts);
else await reportAll(readEmbedder(values.texts, values.vectors));

function writeTexts(file: string): void {
  const texts = sets.flatMap((set) => {
    const { entries, questions } = pooled(set);
    return [...entries.flatMap(({ content }) => passages(content)), ...questions.map(textOf)];
  });
  const all = new Set([...CALIBRATION_PAIRS.flat(), ...ELSEWHERE, ...texts]);
  writeFileSync(file, [...all].map((text) => `${JSON.stringify(text)}\n`).join(""));
  console.log(`${file} has ${all.size} texts to embed; pass their vectors with --vectors.`);
}

async function reportAll(embedder: FileEmbedder): Promise<void> {
  const heads = ["asked", "R@1", "R@5", "R@10", "MRR", "none", "wrong"];
  console.log(row("set, store, by", heads, 8));
  for (const set of sets) {
    await report(`${set.name} each`, set.conversations, embedder);
    await report(`${set.name} pooled`, [pooled(set)], embedder);
  }
}

async function report(
  name: string,
  stores: readonly Conversation[],
  embedder: FileEmbedder,
): Promise<void> {
  const ways: Record<string, typeof withStore> = {
    words: (entries, _, use) => withStore(entries, undefined, use),
    vectors: (entries, _, use) => use(byCosine(entries, embedder)),
    both: withStore,
  };
  for (const [way, open] of Object.entries(ways)) {
    const found: ReturnType<typeof measure>[] = [];
    let wrong = 0;
    for (const { entries, questions } of stores) {
      await open(entries, embedder, async (search) => {
        for (const question of questions) {
          found.push(measure(await search(question.text), question));
        }
        for (const text of ELSEWHERE) if ((await search(text)).length > 0) wrong += 1;
      });
    }
    const { recallAt1, recallAt5, recallAt10, reciprocalRank, nothing } = meanMeasures(found);
    const wrongShare = wrong / (ELSEWHERE.length * stores.length);
    const shares = [recallAt1, recallAt5, recallAt10, reciprocalRank, nothing, wrongShare];
    console.log(row(`${name} ${way}`, [String(found.length), ...shares.map(percent)], 8));
  }
}

function byCosine(entries: Conversation["entries"], embedder: FileEmbedder): Search {
  const all = entries.map(({ id, content }) => ({
    id,
    vectors: passages(content).map((passage) => embedder.of(passage)),
  }));
  return async (query) => {
    const asked = embedder.of(query);
    return all
      .map(({ id, vectors }) => ({
        id,
        best: Math.max(...vectors.map((vector) => dot(vector, asked))),
      }))
      .sort((one, other) => other.best - one.best)
      .slice(0, LIMIT)
      .map(({ id }) => id);
  };
}

interface FileEmbedder extends Embedder {
  of(text: string): Float32Array;
}

function readEmbedder(textsFile: string, vectorsFile: string): FileEmbedder {
  const lines = readFileSync(textsFile, "utf8").trimEnd().split("\n");
  const places = new Map(lines.map((line, index) => [JSON.parse(line) as string, index]));
  const bytes = readFileSync(vectorsFile);
  const numbers = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const dimensions = numbers.length / places.size;
  const of = (text: string) => {
    const place = places.get(text);
    if (place === undefined) throw new Error(`There is no vector for ${JSON.stringify(text)}.`);
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

function dot(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < one.length; index += 1) {
    sum += (one[index] as number) * (other[index] as number);
  }
  return sum;
}

function textOf({ text }: { readonly text: string }): string {
  return text;
}
