import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ERRORS } from "../src/core/errors.ts";

/** What each door exports, values and types. A change here is a change for users. */
const DOORS = [
  "index",
  "sqlite",
  "hnsw",
  "ai-sdk",
  "claude",
  "openai-agents",
  "json-rpc",
  "langchain",
  "mastra",
  "opencode",
  "pi",
  "postgres",
  "rest",
  "mcp",
  "testing",
] as const;

test.each(DOORS)("the door %s exports what it did", async (door) => {
  const values = Object.keys(await import(`../src/${door}.ts`));
  const types = typesExportedBy(readFileSync(`src/${door}.ts`, "utf8"));
  const lines = [...values, ...types.map((name) => `type ${name}`)].sort();
  await expect(lines.join("\n")).toMatchFileSnapshot(`./fixtures/public-api/${door}.txt`);
});

test("types are found, however they are exported", () => {
  const door = `
    export type { A, B as C } from "./a.ts";
    export { type D, e } from "./d.ts";
    export interface F {}
    export type G = string;
    export class H {}`;
  expect(typesExportedBy(door)).toEqual(["A", "C", "D", "F", "G"]);
});

function typesExportedBy(door: string): readonly string[] {
  const lists = Array.from(
    door.matchAll(/^\s*export (type )?\{([^}]*)\}/gm),
    ([, all, names = ""]) =>
      names
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "" && (all !== undefined || name.startsWith("type ")))
        .map((name) => name.replace(/^type /, "").replace(/^.* as /, "")),
  );
  const declared = Array.from(
    door.matchAll(/^\s*export (?:interface|type) (\w+)/gm),
    ([, name = ""]) => name,
  );
  return [...lists.flat(), ...declared];
}

test("error codes and their numbers are forever", async () => {
  const rows = Object.entries(ERRORS).map(
    ([code, { httpStatus, jsonRpcCode, exitCode }]) =>
      `${code} ${httpStatus} ${jsonRpcCode} ${exitCode}`,
  );
  await expect(rows.sort().join("\n")).toMatchFileSnapshot("./fixtures/public-api/errors.txt");
});

test("no two codes share a JSON-RPC number", () => {
  const numbers = Object.values(ERRORS).map((row) => row.jsonRpcCode);
  expect(new Set(numbers).size).toBe(numbers.length);
});
