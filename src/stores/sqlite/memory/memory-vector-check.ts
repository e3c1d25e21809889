import type { Connection } from "../connection.ts";
import { codedSlots } from "./memory-vector-codes.ts";
import { slotOfKey, spacesOf, type VectorSpace, vectorKey } from "./memory-vector-space.ts";

/** What is wrong with the vectors of a namespace, in words. A passage that has none yet is not wrong. */
export function vectorProblems(db: Connection, namespace: number): string[] {
  return spacesOf(db, namespace).flatMap((space) => problemsOf(db, space));
}

function problemsOf(db: Connection, space: VectorSpace): string[] {
  const { number, namespace, embedder } = space;
  const rows = db.iterate<{ key: number; blank: number }>(
    "SELECT key, row IS NULL AS blank FROM memory_vector WHERE key BETWEEN ? AND ?",
    vectorKey(number, 0),
    vectorKey(number + 1, 0) - 1,
  );
  const coded = codedSlots(db, space);
  const problems: string[] = [];
  let count = 0;
  for (const { key, blank } of rows) {
    count += 1;
    const slot = slotOfKey(key);
    if (coded.delete(slot) === (blank === 1)) {
      problems.push(`${embedder} has ${blank ? "only a code" : "no code"} for slot ${slot}.`);
    }
    const entry = db.get<{ slot: number; passages: number }>(
      `SELECT slot, passages FROM memory_entry WHERE namespace = ? AND slot <= ?
       ORDER BY slot DESC LIMIT 1`,
      namespace,
      slot,
    );
    if (!entry || slot >= entry.slot + entry.passages) {
      problems.push(`${embedder} has a vector for slot ${slot}, which has no passage.`);
    }
  }
  if (count !== space.passages) {
    problems.push(`${embedder} has ${count} vectors and counts ${space.passages}.`);
  }
  for (const slot of coded) problems.push(`${embedder} has a code and no row for slot ${slot}.`);
  return problems;
}
