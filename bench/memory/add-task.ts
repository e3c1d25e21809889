import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { madeUpBatches } from "../data/entries.ts";
import { Fts5Store } from "../fts5-store.ts";
import { median, timed } from "../measuring.ts";
import { fts5Path, openMemory } from "./open-memory.ts";

export interface AddInput {
  readonly folder: string;
  /** How many entries the store has. */
  readonly size: number;
  readonly vectors: boolean;
  /** How many are added, one at a time. */
  readonly count: number;
}

/** Medians in milliseconds. */
export interface AddOutput {
  readonly rkat: number;
  readonly fts5: number;
  /** A row with the same text in a table without an index: nothing durable can be faster. */
  readonly bareInsert: number;
}

/** Adds entries one at a time to rkat, to FTS5 and to a bare table, alternating. Each add is durable. */
export async function addTask({ folder, size, vectors, count }: AddInput): Promise<AddOutput> {
  const memory = openMemory(folder, vectors);
  const fts5 = new Fts5Store(fts5Path(folder));
  const bare = new DatabaseSync(join(folder, "bare.db"));
  bare.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE entry (text TEXT)");
  const insert = bare.prepare("INSERT INTO entry VALUES (?)");
  const ms = { rkat: [] as number[], fts5: [] as number[], bareInsert: [] as number[] };
  for (const one of madeUpBatches(size, size + count, 1)) {
    ms.rkat.push(await timed(() => memory.add(one)));
    ms.fts5.push(await timed(() => fts5.add(one)));
    ms.bareInsert.push(await timed(() => insert.run(one[0]?.content ?? "")));
  }
  await memory.close();
  fts5.close();
  bare.close();
  return {
    rkat: median(ms.rkat),
    fts5: median(ms.fts5),
    bareInsert: median(ms.bareInsert),
  };
}
