import { createHash } from "node:crypto";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Starts with the longest files, so that none of them runs alone at the end. With `--sequence.shuffle`, the seed decides. */
export class TestOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { shuffle, seed } = this.ctx.config.sequence;
    if (shuffle) return files.toSorted(by((file) => rank(seed, file)));
    const sorted = await super.sort(files);
    return sorted.toSorted(by((file) => (LONG.test(file.moduleId) ? "0" : "1")));
  }
}

/** Took over ten seconds in a run of all files, and those that are like them. */
const LONG = new RegExp(
  [
    "/bench/run",
    "/test/(?:cli|docs|import|json-rpc|mcp|memory|move|one|postgres|public|rest|session|surface|window)-",
    "/test/(?:backup|examples|export|index-stores|interrupted|laws|recall|replay|said-once|search-start|standing)",
    "/attack/(?:collect|fill|freeze|keep|outlive|set|unfold)-",
    "/(?:hnsw-memory-store|sqlite-memory-store|verify-index)",
  ].join("|"),
);

/** The same on each machine for one seed. */
function rank(seed: number, { moduleId, project }: TestSpecification): string {
  const path = moduleId.slice(project.config.root.length);
  return createHash("sha256").update(`${seed} ${path}`).digest("hex");
}

function by(key: (file: TestSpecification) => string) {
  return (one: TestSpecification, other: TestSpecification) => {
    const [left, right] = [key(one), key(other)];
    return left < right ? -1 : Number(left > right);
  };
}
