import type {
  CodeBlockRow,
  IndexStore,
  LackingEntry,
  VectorRow,
  VectorSpace,
} from "../../indexing/port/index-store.ts";
import type { Connection } from "./connection.ts";
import * as sql from "./index-queries.ts";
import { KEYS } from "./index-schema.ts";

// The questions about vectors, of the namespace with this number.

export type WantedCodes = Parameters<IndexStore["codeBlocks"]>[1];
export type LackingPage = Parameters<IndexStore["entriesLacking"]>[1];

export function spaces(db: Connection, namespace: number): readonly VectorSpace[] {
  return db.all<VectorSpace>(sql.SPACE, namespace);
}

export function spaceOfEmbedder(db: Connection, namespace: number, embedder: string) {
  return db.get<VectorSpace>(`${sql.SPACE} AND embedder = ?`, namespace, embedder);
}

export function vectorSlots(db: Connection, namespace: number, slots: readonly number[]) {
  return spaces(db, namespace).flatMap(({ number: space }) =>
    slots.filter((slot) => hasVector(db, space, slot)).map((slot) => ({ space, slot })),
  );
}

function hasVector(db: Connection, space: number, slot: number): boolean {
  return db.get(sql.HAS_VECTOR, space * KEYS + slot) !== undefined;
}

export function vectorPage(db: Connection, space: number, after: number, limit: number) {
  const first = space * KEYS;
  return db
    .all<{ key: number; blank: number }>(sql.VECTORS, first + after, first + KEYS - 1, limit)
    .map(({ key, blank }) => ({ slot: key - first, isBlank: blank === 1 }));
}

export function vectorRows(
  db: Connection,
  space: number,
  slots: readonly number[],
): readonly VectorRow[] {
  if (slots.length === 0) return [];
  const first = space * KEYS;
  // One statement for all takes a third of the time of one for each.
  const keys = JSON.stringify(slots.map((slot) => first + slot));
  return db.arrays(sql.VECTOR_ROWS, keys).map((row) => ({
    space,
    slot: (row[0] as number) - first,
    row: row[1] as Uint8Array | null,
  }));
}

type StoredCodes = Omit<CodeBlockRow, "space" | "block"> & { readonly key: number };

export function codeBlocks(
  db: Connection,
  space: number,
  which: WantedCodes,
): readonly CodeBlockRow[] {
  const first = space * KEYS;
  const rows =
    "blocks" in which
      ? which.blocks.flatMap((block) => db.all<StoredCodes>(sql.CODE_BLOCK, first + block))
      : db.all<StoredCodes>(sql.CODE_BLOCKS, first, first + KEYS - 1, which.changedAfter);
  return rows.map(({ key, ...row }) => ({ ...row, space, block: key - first }));
}

export function entriesLacking(
  db: Connection,
  namespace: number,
  space: number,
  { oldest, before, limit }: LackingPage,
): readonly LackingEntry[] {
  const first = namespace * KEYS;
  const rows = db.iterate<Omit<LackingEntry, "have">>(
    sql.LACKING,
    first + oldest,
    first + before - 1,
    space * KEYS,
    limit,
  );
  return [...rows].map((row) => ({
    ...row,
    key: row.key - first,
    have: Array.from({ length: row.passages }, (_, index) => row.slot + index).filter((slot) =>
      hasVector(db, space, slot),
    ),
  }));
}
