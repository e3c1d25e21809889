import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { compileScan } from "./compile.ts";

// Takes over two seconds: the compiler of AssemblyScript starts and runs.
test("the committed WebAssembly is what its source compiles to", async () => {
  const committed = readFileSync(
    new URL("../../src/indexing/vectors/scan-wasm.ts", import.meta.url),
    "utf8",
  );
  expect(committed, "run `npm run kernels`").toBe(await compileScan());
});
