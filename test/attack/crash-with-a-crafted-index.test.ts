import { createHmac } from "node:crypto";
import {
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { ownKey } from "../../src/config/trust.ts";
import type { Embedder } from "../../src/core/embedder.ts";
import { BagOfWordsEmbedder } from "../../src/embedders/word-embedders.ts";
import { HnswMemoryStore, type HnswMemoryStoreOptions } from "../../src/hnsw.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { temporaryFolder } from "../support/obey.ts";
import { trials } from "../support/trials.ts";

const TEXTS = Array.from({ length: 20 }, (_, index) => `The otter of pond ${index} sleeps.`);
/** The code at the end of an index. */
const CODE_BYTES = 32;

function open(folder: string, options: Partial<HnswMemoryStoreOptions> = {}) {
  const local = new BagOfWordsEmbedder();
  const asked: string[] = [];
  const embedder: Embedder = {
    ...{ id: local.id, dimensions: local.dimensions, trained: false },
    embed: (texts) => {
      asked.push(...texts);
      return local.embed(texts);
    },
  };
  const errors: unknown[] = [];
  const store = new HnswMemoryStore({
    entries: sqliteStores({ path: join(folder, "rkat.db") }).memory,
    file: join(folder, "index", "memory.hnsw"),
    root: folder,
    embedder,
    onBackgroundError: (error) => errors.push(error),
    ...options,
  });
  onTestFinished(() => store.close());
  return { store, asked, errors };
}

async function fill(folder: string, options: Partial<HnswMemoryStoreOptions> = {}) {
  const { store } = open(folder, options);
  const entries = TEXTS.map((content, index) => ({
    ...{ id: `${index}`, content, sessionId: "s", turn: 0, kind: "message" as const },
  }));
  await store.add(entries);
  await store.close();
  return readFileSync(join(folder, "index", "memory.hnsw"));
}

const best = async (store: HnswMemoryStore) =>
  (await store.search({ query: TEXTS[16] ?? "", limit: 1 })).map(({ id }) => id);

test("an index with another key is made again, and never loaded", async () => {
  const folder = await temporaryFolder();
  const key = new Uint8Array(32).fill(7);
  await fill(folder, { key: new Uint8Array(32).fill(8) });
  const { store, asked, errors } = open(folder, { key });
  expect(await best(store)).toEqual(["16"]);
  expect(asked).toHaveLength(TEXTS.length + 1);
  await store.close();
  const again = open(folder, { key });
  expect(await best(again.store)).toEqual(["16"]);
  expect(again.asked).toHaveLength(1);
  expect(errors).toEqual([]);
});

test("whatever bytes are changed and checksums made to fit, the process lives and finds all", async () => {
  const folder = await temporaryFolder();
  const key = new Uint8Array(32).fill(7);
  const file = join(folder, "index", "memory.hnsw");
  const bytes = await fill(folder, { key });
  const change = fc.record({ at: fc.nat(bytes.length - 1), to: fc.nat(255) });
  const changed = fc.tuple(fc.array(change, { minLength: 1, maxLength: 40 }), fc.boolean());
  await fc.assert(
    fc.asyncProperty(changed, async ([changes, isCut]) => {
      const crafted = Buffer.from(isCut ? bytes.subarray(0, bytes.length >> 1) : bytes);
      for (const { at, to } of changes) crafted[at % crafted.length] = to;
      // The attacker knows this code, but not the key.
      const rest = crafted.subarray(0, -CODE_BYTES);
      const code = createHmac("sha256", new Uint8Array()).update(rest).digest();
      writeFileSync(file, Buffer.concat([rest, code]));
      const { store } = open(folder, { key });
      expect(await best(store)).toEqual(["16"]);
      await store.close();
    }),
    { numRuns: trials(15, 1000) },
  );
});

test("the key is the user's own: outside of all projects, private, and kept", async () => {
  const [one, other] = [await temporaryFolder(), await temporaryFolder()];
  const key = ownKey({ HOME: one });
  expect(key).toHaveLength(32);
  expect(ownKey({ HOME: one })).toEqual(key);
  expect(ownKey({ HOME: other })).not.toEqual(key);
  expect(statSync(join(one, ".config", "rkat", "key")).mode & 0o777).toBe(0o600);
  writeFileSync(join(one, ".config", "rkat", "key"), "short");
  expect(ownKey({ HOME: one })).toBeUndefined();
});

test.each([
  ["its folder", "index"],
  ["the file", "index/memory.hnsw"],
])("%s as a link out of the project: nothing outside is read, made or changed", async (_, part) => {
  const root = await temporaryFolder();
  const folder = join(root, "project");
  const outside = join(root, "outside");
  mkdirSync(outside, { recursive: true });
  mkdirSync(join(folder, part, ".."), { recursive: true });
  if (part === "index") symlinkSync(outside, join(folder, part));
  else {
    writeFileSync(join(outside, "bashrc"), "# mine\n");
    symlinkSync(join(outside, "bashrc"), join(folder, part));
  }
  const before = globSync("**", { cwd: outside });
  const { store, errors } = open(folder);
  await store.add([
    { id: "16", content: TEXTS[16] ?? "", sessionId: "s", turn: 0, kind: "message" },
  ]);
  expect(await best(store)).toEqual(["16"]);
  await store.close();
  expect(globSync("**", { cwd: outside })).toEqual(before);
  if (existsSync(join(outside, "bashrc")))
    expect(readFileSync(join(outside, "bashrc"), "utf8")).toBe("# mine\n");
  expect(errors).toContainEqual(expect.objectContaining({ code: "UNSAFE_FILE" }));
});
