import { expect, test } from "vitest";
import { ERRORS } from "../src/core/errors.ts";

/** What each door exports at run time. A change here is a change for users. */
const DOORS = ["index", "sqlite", "hnsw", "ai-sdk", "json-rpc", "rest", "mcp", "testing"] as const;

test.each(DOORS)("the door %s exports what it did", async (door) => {
  const exports = await import(`../src/${door}.ts`);
  await expect(Object.keys(exports).sort().join("\n")).toMatchFileSnapshot(
    `./fixtures/public-api/${door}.txt`,
  );
});

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
