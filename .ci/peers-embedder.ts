// Makes a vector with the runtime that is installed here, of a model that this program writes.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbedder } from "rkat";

const { REPOSITORY: repository } = process.env;
const { writeTinySentenceModel, meanVector } = await import(
  `${repository}/test/support/tiny-sentence-model.ts`
);

const folder = mkdtempSync(join(tmpdir(), "rkat-model-"));
writeTinySentenceModel(folder);
const embedder = await openEmbedder({ provider: "fast", model: folder });
const [vector = new Float32Array()] = await embedder.embed(["the tests pass"]);
const expected: Float32Array = meanVector(["the", "tests", "pass"]);
assert.equal(vector.length, expected.length);
for (const [at, number] of expected.entries()) {
  assert.ok(Math.abs(number - (vector[at] ?? 0)) < 1e-5, "the vector is another one");
}
rmSync(folder, { recursive: true });
