import { globSync, readFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { expect, test } from "vitest";

/**
 * Who may import whom. A folder may always import itself; files directly under
 * `src/` wire the rest together and may import anything.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  core: ["zod", "uuid"],
  compaction: ["core", "secrets"],
  // Compaction for loops that are not rkat's.
  window: ["core", "compaction", "knowledge", "secrets"],
  search: ["core", "porter2"],
  kernels: [],
  vectors: ["kernels"],
  embedders: ["core", "models", "onnxruntime-web", "@huggingface/tokenizers"],
  // What an index is. It knows no database.
  indexing: ["core", "search", "vectors"],
  stores: [
    "core",
    "files",
    "search",
    "indexing",
    "embedders",
    "secrets",
    "pg",
    "usearch",
    "vectors",
  ],
  models: [
    "core",
    "@ai-sdk/provider",
    "@ai-sdk/anthropic",
    "@ai-sdk/openai",
    "@ai-sdk/google",
    "@ai-sdk/openai-compatible",
  ],
  secrets: ["core"],
  knowledge: ["core", "secrets", "zod"],
  tools: ["core", "files", "secrets", "zod"],
  agent: ["core", "compaction"],
  projections: ["core", "files", "knowledge"],
  forgetting: ["core", "compaction", "knowledge", "secrets"],
  session: [
    "core",
    "agent",
    "compaction",
    "forgetting",
    "knowledge",
    "projections",
    "secrets",
    "tools",
  ],
  // Other packages' agent loops. Nothing of theirs is imported.
  hosts: ["core", "compaction", "window", "models", "tools", "transcripts"],
  transcripts: ["core", "zod"],
  // From one set of stores to another.
  moving: ["core", "projections", "secrets"],
  replay: ["core", "compaction", "transcripts"],
  import: ["core", "files", "secrets", "transcripts"],
  // A session for another agent to continue, as a text.
  handoff: ["core", "compaction", "knowledge", "secrets"],
  files: ["core"],
  config: ["core", "files", "smol-toml"],
  // What rkat puts into the settings of coding agents, and what it tells them.
  "coding-agents": ["core", "compaction", "config", "files", "knowledge", "secrets"],
  surfaces: [
    "coding-agents",
    "core",
    "files",
    "config",
    "handoff",
    "import",
    "moving",
    "replay",
    "transcripts",
    "zod",
    "@bomb.sh/tab/commander",
    "@earendil-works/pi-tui",
    "commander",
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
  testing: ["core"],
};

const folderOf = (path: string) => path.split(sep)[1] ?? "";

const isOwn = (specifier: string) => specifier.startsWith(".");

function specifiersIn(file: string): readonly string[] {
  const found = readFileSync(file, "utf8").matchAll(/(?:from|import)[ (]+"([^"]+)"/g);
  return Array.from(found, ([, specifier = ""]) => specifier);
}

function importsOf(file: string): readonly string[] {
  return specifiersIn(file)
    .filter((specifier) => !specifier.startsWith("node:"))
    .map((specifier) => (isOwn(specifier) ? folderOf(join(dirname(file), specifier)) : specifier));
}

test("every import follows an arrow in MAY_IMPORT", () => {
  const files = globSync("src/*/**/*.ts").filter((file) => !file.endsWith(".test.ts"));
  const strays = files.flatMap((file) =>
    importsOf(file)
      .filter((to) => to !== folderOf(file) && !MAY_IMPORT[folderOf(file)]?.includes(to))
      .map((to) => `${file} imports ${to}`),
  );
  expect(strays).toEqual([]);
});

test("no files import each other in a circle, types included", () => {
  const imports = new Map(
    globSync("src/**/*.ts")
      .filter((file) => !file.endsWith(".test.ts"))
      .map((file) => [
        file,
        specifiersIn(file)
          .filter(isOwn)
          .map((to) => join(dirname(file), to)),
      ]),
  );
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
