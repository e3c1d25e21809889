import { globSync, readFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { expect, test } from "vitest";

/**
 * The folders and packages that a folder may import, besides itself and the folders in it. A folder
 * in another one has a row of its own, or shares the other's. Files directly under `src/` wire the rest
 * together and may import anything.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  // Characters, lines, near names, times in words, the size of an image: knows nothing of sessions.
  text: [],
  core: ["text", "zod", "uuid"],
  secrets: ["core", "text"],
  compaction: ["core", "secrets", "text"],
  // What comes back from memory by itself, and how it is quoted: pure.
  recall: ["core", "compaction", "text"],
  // Compaction for loops that are not rkat's.
  window: ["core", "compaction", "knowledge", "recall", "secrets", "traces"],
  embedders: ["core", "models", "onnxruntime-web", "@huggingface/tokenizers"],
  // The index of memory. It knows no database. Each folder in it may import those above it here.
  indexing: ["core", "text"],
  "indexing/port": ["core"],
  "indexing/words": ["text", "porter2"],
  "indexing/passages": ["core", "text", "indexing/words"],
  "indexing/score": ["core", "text", "indexing/passages", "indexing/words"],
  "indexing/segments": [
    "core",
    "indexing/passages",
    "indexing/port",
    "indexing/score",
    "indexing/words",
    "text",
  ],
  "indexing/vectors": [
    "core",
    "indexing/passages",
    "indexing/port",
    "indexing/score",
    "indexing/words",
  ],
  "indexing/upkeep": [
    "core",
    "indexing/passages",
    "indexing/port",
    "indexing/segments",
    "indexing/vectors",
    "indexing/words",
  ],
  stores: ["core", "files", "indexing", "embedders", "secrets", "text", "pg"],
  // Nearest neighbours over the memory of any other store.
  "stores/hnsw": ["core", "files", "indexing", "embedders", "usearch"],
  models: [
    "core",
    "text",
    "@ai-sdk/provider",
    "@ai-sdk/anthropic",
    "@ai-sdk/openai",
    "@ai-sdk/google",
    "@ai-sdk/openai-compatible",
  ],
  knowledge: ["core", "secrets", "text", "zod"],
  tools: ["core", "files", "secrets", "text", "zod"],
  agent: ["core", "compaction", "recall", "text"],
  projections: ["core", "files", "knowledge"],
  forgetting: ["core", "compaction", "knowledge", "secrets", "text"],
  session: [
    "core",
    "agent",
    "compaction",
    "forgetting",
    "knowledge",
    "projections",
    "recall",
    "secrets",
    // Memory as it was at a time, for one question.
    "stores/ephemeral",
    "text",
    "tools",
  ],
  // Other packages' agent loops. Nothing of theirs is imported.
  hosts: ["core", "compaction", "window", "models", "tools", "transcripts"],
  transcripts: ["core", "text", "zod"],
  // What a program that is watched shows of the work.
  traces: ["core", "@opentelemetry/api"],
  // From one set of stores to another.
  moving: ["core", "projections", "secrets"],
  // One file with whole stores in it, or with all of a project as lines.
  backup: ["core", "secrets", "text"],
  replay: ["core", "compaction", "transcripts"],
  import: ["core", "files", "secrets", "text", "transcripts"],
  // A session for another agent to continue, as a text.
  handoff: ["core", "compaction", "knowledge", "secrets", "text"],
  files: ["core"],
  // A setting says what else is a secret.
  config: ["core", "files", "secrets", "text", "smol-toml"],
  // What rkat puts into the settings of coding agents, and what it tells them.
  "coding-agents": [
    "core",
    "compaction",
    "config",
    "files",
    // What a compaction must keep is what another agent would need.
    "handoff",
    "knowledge",
    "secrets",
    "text",
    "jsonc-parser",
  ],
  // What a project is: its settings opened as stores, models, a service.
  app: [
    "agent",
    "backup",
    "coding-agents",
    "config",
    "core",
    "embedders",
    // Models that a person installs are copied.
    "files",
    "hosts",
    "import",
    "knowledge",
    "models",
    "moving",
    "projections",
    "recall",
    "replay",
    "secrets",
    "session",
    "stores",
    "surfaces",
    "text",
    "tools",
    "traces",
    "transcripts",
    "window",
  ],
  // The command: an application, beside the wires.
  cli: [
    "app",
    "coding-agents",
    "config",
    "core",
    "files",
    "handoff",
    "import",
    "replay",
    "surfaces",
    "text",
    "transcripts",
    "@bomb.sh/tab/commander",
    "@codemirror/legacy-modes/mode/*",
    "@codemirror/streamparser",
    "@earendil-works/pi-tui",
    "commander",
  ],
  surfaces: [
    "core",
    // The reason that a program gives for its end may have a credential in it.
    "secrets",
    "text",
    "zod",
    "hono",
    "hono/cors",
    "hono/http-exception",
    "@hono/node-server",
    "eventsource-parser/stream",
    "@modelcontextprotocol/server",
    "@modelcontextprotocol/server/stdio",
    "@modelcontextprotocol/client",
    "@modelcontextprotocol/client/stdio",
  ],
  // What leaves this machine as a file is without credentials.
  "surfaces/inspect": [
    "core",
    "secrets",
    "surfaces/http",
    "surfaces/rest",
    "hono",
    "hono/http-exception",
  ],
  // The page runs in a browser. What it imports of the others is pure.
  "surfaces/inspect/page": [
    "compaction",
    "core",
    "text",
    "preact",
    "preact/hooks",
    "@tanstack/virtual-core",
    "eventsource-parser",
  ],
  testing: ["core"],
};

/** The folder of a file below `src/`, such as `indexing/words`; empty for a file directly under `src/`. */
const folderOf = (path: string) => dirname(path).split(sep).slice(1).join("/");

const isOwn = (specifier: string) => specifier.startsWith(".");

const isPartOf = (specifier: string, pattern: string) =>
  pattern.endsWith("/*") && specifier.startsWith(pattern.slice(0, -1));

const isIn = (folder: string, parent: string) =>
  folder === parent || folder.startsWith(`${parent}/`);

/** The row of a folder in `MAY_IMPORT`: its own, or that of the nearest folder around it. */
function rowOf(folder: string): string {
  return folder in MAY_IMPORT || !folder.includes("/") ? folder : rowOf(dirname(folder));
}

function mayImport(from: string, to: string): boolean {
  const row = rowOf(from);
  return isIn(to, row) || (MAY_IMPORT[row] ?? []).some((allowed) => isIn(to, allowed));
}

function specifiersIn(file: string): readonly string[] {
  const found = readFileSync(file, "utf8").matchAll(/(?:from|import)[ (]+"([^"]+)"/g);
  return Array.from(found, ([, specifier = ""]) => specifier);
}

/** The files below `src/` without tests. */
const FILES = globSync("src/**/*.{ts,tsx}")
  .filter((file) => !file.endsWith(".test.ts"))
  .sort();

const ownImportsOf = (file: string) =>
  specifiersIn(file)
    .filter(isOwn)
    .map((to) => join(dirname(file), to));

test("every import follows an arrow in MAY_IMPORT", () => {
  const strays = FILES.filter((file) => folderOf(file) !== "").flatMap((file) => {
    const packages = specifiersIn(file).filter((to) => !isOwn(to) && !to.startsWith("node:"));
    const allowed = MAY_IMPORT[rowOf(folderOf(file))] ?? [];
    return [
      ...packages.filter((to) => !allowed.some((each) => to === each || isPartOf(to, each))),
      ...ownImportsOf(file).filter((to) => !mayImport(folderOf(file), folderOf(to))),
    ].map((to) => `${file} imports ${to}`);
  });
  expect(strays).toEqual([]);
});

test("the stores of the plain tables know no database", () => {
  const DATABASE = /stores\/(?!sql\/|history\/|knowledge\/|stored-json\.ts)|^(?:node:|pg$)/;
  const files = globSync("src/stores/sql/*.ts").filter((file) => !file.endsWith(".test.ts"));
  expect(files).not.toEqual([]);
  const strays = files.flatMap((file) =>
    specifiersIn(file)
      .map((specifier) => (isOwn(specifier) ? join(dirname(file), specifier) : specifier))
      .filter((to) => DATABASE.test(to.replaceAll(sep, "/")))
      .map((to) => `${file} imports ${to}`),
  );
  expect(strays).toEqual([]);
});

test("a folder with a row of its own may import neither its parent nor a folder that its row lacks", () => {
  expect(mayImport("indexing/words", "indexing")).toBe(false);
  expect(mayImport("indexing/words", "indexing/score")).toBe(false);
  expect(mayImport("indexing/score", "indexing/words")).toBe(true);
  expect(mayImport("indexing", "indexing/score")).toBe(true);
  expect(mayImport("stores/sqlite", "indexing/port")).toBe(true);
  expect(mayImport("indexing/port", "stores/sqlite")).toBe(false);
});

test("only the door and the settings open the HNSW store", () => {
  const openers = FILES.filter(
    (file) =>
      folderOf(file) !== "stores/hnsw" &&
      ownImportsOf(file).some((to) => folderOf(to) === "stores/hnsw"),
  );
  expect(openers).toEqual(["src/app/memory-stores.ts", "src/hnsw.ts"]);
});

test("no folders beside each other import each other in a circle, at any depth", () => {
  const imports = new Map<string, Set<string>>();
  for (const file of FILES) {
    for (const to of ownImportsOf(file)) {
      const [one, other] = foldersBeside(file, to);
      if (one === undefined || other === undefined) continue;
      imports.set(one, (imports.get(one) ?? new Set()).add(other));
    }
  }
  const lists = Array.from(imports, ([folder, to]) => [folder, [...to]] as const);
  expect(circlesIn(new Map(lists))).toEqual([]);
});

/** The folders with two files where their paths part; `undefined` for a file that is directly there. */
function foldersBeside(...files: readonly [string, string]): readonly (string | undefined)[] {
  const [one, other] = files.map((file) => file.split(sep));
  const depth = one?.findIndex((part, at) => part !== other?.[at]) ?? 0;
  return [one, other].map((parts = []) =>
    depth < parts.length - 1 ? parts.slice(0, depth + 1).join("/") : undefined,
  );
}

test("no files import each other in a circle, types included", () => {
  const imports = new Map(FILES.map((file) => [file, ownImportsOf(file)]));
  expect(circlesIn(imports)).toEqual([]);
});

test("a circle is found, and named by its files in order", () => {
  const imports = new Map([
    ["a", ["b"]],
    ["b", ["c", "d"]],
    ["c", ["a"]],
    ["d", []],
  ]);
  expect(circlesIn(imports)).toEqual(["a → b → c → a"]);
});

/** One circle for each import that closes one. */
function circlesIn(imports: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: readonly string[]) => {
    const start = path.indexOf(file);
    if (start >= 0) circles.push([...path.slice(start), file].join(" → "));
    if (start >= 0 || done.has(file)) return;
    for (const next of imports.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return circles;
}
