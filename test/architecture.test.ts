import { globSync, readFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { expect, test } from "vitest";

/**
 * Who may import whom. A folder may always import itself; files directly under
 * `src/` wire the rest together and may import anything.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  core: ["zod", "uuid"],
  compaction: ["core"],
  search: ["core", "porter2"],
  kernels: [],
  vectors: ["kernels"],
  embedders: ["core", "models", "onnxruntime-web", "@huggingface/tokenizers"],
  stores: ["core", "search", "embedders", "usearch", "vectors"],
  models: [
    "core",
    "@ai-sdk/provider",
    "@ai-sdk/anthropic",
    "@ai-sdk/openai",
    "@ai-sdk/google",
    "@ai-sdk/openai-compatible",
  ],
  secrets: [],
  knowledge: ["core", "secrets", "zod"],
  tools: ["core", "zod"],
  agent: ["core", "compaction"],
  projections: ["core", "knowledge", "secrets"],
  forgetting: ["core", "compaction", "knowledge", "secrets"],
  session: ["core", "agent", "compaction", "forgetting", "knowledge", "projections", "tools"],
  transcripts: ["core", "zod"],
  replay: ["core", "transcripts"],
  files: ["core"],
  config: ["core", "files", "smol-toml"],
  surfaces: [
    "core",
    "files",
    "config",
    "replay",
    "transcripts",
    "zod",
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

function importsOf(file: string): string[] {
  const specifiers = readFileSync(file, "utf8").matchAll(/(?:from|import)[ (]+"([^"]+)"/g);
  return [...specifiers]
    .map((match) => match[1] ?? "")
    .filter((specifier) => !specifier.startsWith("node:"))
    .map((specifier) =>
      specifier.startsWith(".") ? folderOf(join(dirname(file), specifier)) : specifier,
    );
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
