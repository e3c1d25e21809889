import { expect, test } from "vitest";
import { isTrivial } from "./learned-entries.ts";

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
