import { expect, test } from "vitest";
import { factOf, isTrivial, likenessOf } from "./learned-entries.ts";
import { withoutVolatile } from "./without-volatile.ts";

const result = "Staging listens on port 4310, behind the proxy.";

test.each([
  ["memory_search", "not recorded"],
  ["search_project_history", "not recorded"],
  ["mcp__rkat__memory_search", "not recorded"],
  ["rkat.search_project_history", "not recorded"],
  ["update_task", "not recorded"],
  ["read_file", undefined],
  ["memory_search_settings", undefined],
])("a search of memory or logs is no fact, whatever a host calls it: %s", (name, dropped) => {
  const made = factOf({ name, args: {}, result, sessionId: "s", seq: 1, time: "2025-01-10" });
  expect("dropped" in made ? made.dropped : undefined).toBe(dropped);
});

test("numbers, times, ids, colours and spaces are no difference", () => {
  const monday = "\u001b[32m42 tests\u001b[0m passed in 3.2 s at 2026-01-05T10:00:00Z (a1b2c3d4e5)";
  const friday = "41 tests passed  in 12 s\n at 2026-01-09 11:30:01 (f00ba7ba700)";
  expect(withoutVolatile(monday)).toBe("# tests passed in # s at # (#)");
  expect(withoutVolatile(friday)).toBe("# tests passed in # s at # (#)");
});

const words = (count: number, from = 0) =>
  Array.from(
    { length: count },
    (_, index) =>
      `word${String.fromCharCode(97 + ((from + index) % 26))}${"x".repeat((from + index) / 26)}`,
  );

test("similar texts share a band and most of their signature, others do not", () => {
  const all = words(120);
  const one = likenessOf(all.join(" "), "call");
  const changed = likenessOf([...all.slice(0, 60), "another", ...all.slice(61)].join(" "), "call");
  const other = likenessOf(words(120, 200).join(" "), "call");
  const elsewhere = likenessOf(all.join(" "), "another call");
  const share = (a = one, b = changed) =>
    (a?.signature ?? []).filter((value, index) => value === b?.signature[index]).length / 32;
  const bands = (a = one, b = changed) => a?.bands.filter((band) => b?.bands.includes(band)).length;
  expect(share()).toBeGreaterThan(0.84);
  expect(bands()).toBeGreaterThan(0);
  expect(share(one, other)).toBeLessThan(0.3);
  expect(bands(one, other)).toBe(0);
  expect(bands(one, elsewhere)).toBe(0);
});

test("a short text has no likeness: it is the same or another", () => {
  expect(likenessOf("port 5433 is open", "call")).toBeUndefined();
});

test.each([
  "ok",
  "Done.",
  "null",
  "[]",
  "{}",
  "   \n\n ",
  '{"ok":true}',
  '{"success": true, "results": []}',
  '{"status":"ok","error":null,"duration_ms":12}',
  '{"matches":[],"total":0}',
  "File saved successfully.",
  "Successfully wrote 120 bytes to src/index.ts",
  "Command completed successfully",
  "No matches found.",
  "No results were found",
  "0 rows returned",
  "(no output)",
  "total 0",
  "total 8\ndrwxr-xr-x  2 ada ada 4096 Jan  1 10:00 .\ndrwxr-xr-x 12 ada ada 4096 Jan  1 10:00 ..",
  "✓ Done",
  "----------",
  "exit code: 0",
])("an acknowledgement or an empty listing is trivial: %s", (text) => {
  expect(isTrivial(text)).toBe(true);
});

test.each([
  '{"port": 5433}',
  '{"status":"degraded","since":"Monday"}',
  "The staging database listens on port 5433.",
  "README.md\nsrc\ntest",
  "No matches found in 3 files, but README.md mentions it.",
  "2 files changed, 14 insertions(+)",
  "error: cannot find module 'x'",
  "[1, 2, 3]",
])("what says something is not: %s", (text) => {
  expect(isTrivial(text)).toBe(false);
});
