import type { SQLInputValue } from "node:sqlite";
import type { Changes, KeyOf, TableName, Tables } from "../../indexing/port/index-store.ts";
import type { Connection } from "./connection.ts";
import { GENERATION_KEYS, KEYS } from "./index-schema.ts";

/** The statements that write the rows of a table. Values come after the number of the namespace. */
interface Written<Name extends TableName> {
  readonly put: string;
  readonly remove: string;
  values(row: Tables[Name], namespace: number): readonly SQLInputValue[];
  key(row: KeyOf<Name>, namespace: number): readonly SQLInputValue[];
}

/** Saves changes, in a transaction. */
export function saveIndexChanges(db: Connection, namespace: number, changes: Changes): void {
  const { head, remove, put } = changes;
  for (const name of Object.keys(remove) as TableName[]) {
    const { remove: sql, key } = WRITTEN[name] as Written<TableName>;
    for (const row of remove[name] ?? []) db.run(sql, ...key(row as never, namespace));
  }
  for (const name of Object.keys(put) as TableName[]) {
    const { put: sql, values } = WRITTEN[name] as Written<TableName>;
    for (const row of put[name] ?? []) db.run(sql, ...values(row as never, namespace));
  }
  db.run(
    SAVE_HEAD,
    head.version,
    head.generation,
    head.changes,
    head.removedAt,
    head.columnsAt,
    head.stored,
    head.slots,
    head.passages,
    head.rebuilt,
    head.rebuiltVersion,
    namespace,
  );
}

const SAVE_HEAD = `UPDATE memory_namespace
  SET version = ?, generation = ?, changes = ?, removed_at = ?, columns_at = ?, stored = ?,
      slots = ?, passages = ?, rebuilt = ?, rebuilt_version = ?
  WHERE number = ?`;

const WRITTEN: { readonly [Name in TableName]: Written<Name> } = {
  sessions: {
    put: `INSERT INTO memory_session (namespace, number, id, entries, text_bytes, runs)
      VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (namespace, number)
      DO UPDATE SET entries = excluded.entries, text_bytes = excluded.text_bytes, runs = excluded.runs`,
    remove: "DELETE FROM memory_session WHERE namespace = ? AND number = ?",
    values: ({ number, id, entries, textBytes, runs }, namespace) => {
      const packed = JSON.stringify(runs.map(({ first, size, used }) => [first, size, used]));
      return [namespace, number, id, entries, textBytes, packed];
    },
    key: ({ number }, namespace) => [namespace, number],
  },
  labels: {
    put: `INSERT INTO memory_label (namespace, number, text, uses) VALUES (?, ?, ?, ?)
      ON CONFLICT (namespace, number) DO UPDATE SET uses = excluded.uses`,
    remove: "DELETE FROM memory_label WHERE namespace = ? AND number = ?",
    values: ({ number, text, uses }, namespace) => [namespace, number, text, uses],
    key: ({ number }, namespace) => [namespace, number],
  },
  freeRuns: {
    put: "INSERT OR REPLACE INTO memory_free_run (namespace, size, first) VALUES (?, ?, ?)",
    remove: "DELETE FROM memory_free_run WHERE namespace = ? AND size = ? AND first = ?",
    values: ({ size, first }, namespace) => [namespace, size, first],
    key: ({ size, first }, namespace) => [namespace, size, first],
  },
  entries: {
    put: `INSERT INTO memory_entry (key, namespace, id, session, slot, passages, turn, kind, time, role,
        speaker, source_from, source_to, content, marks)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET marks = excluded.marks`,
    remove: "DELETE FROM memory_entry WHERE key = ?",
    values: (row, namespace) => [
      namespace * KEYS + row.key,
      namespace,
      row.id,
      row.session,
      row.slot,
      row.passages,
      row.turn,
      row.kind,
      row.time,
      row.role || null,
      row.speaker || null,
      row.sourceFrom,
      row.sourceTo,
      row.content,
      row.marks,
    ],
    key: ({ key }, namespace) => [namespace * KEYS + key],
  },
  segments: {
    put: `INSERT INTO memory_segment (key, generation, state, becomes, level, first_entry, last_entry,
        first_change, last_change, postings, bytes, grown, words, columns)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) ON CONFLICT (key)
      DO UPDATE SET state = ?3, becomes = ?4, level = ?5, postings = ?10, bytes = ?11, grown = ?12,
        words = iif(?15, words, ?13), columns = iif(?16, columns, ?14)`,
    remove: "DELETE FROM memory_segment WHERE key = ?",
    values: (row, namespace) => [
      namespace * KEYS + row.number,
      row.generation,
      row.state,
      row.becomes,
      row.level,
      row.firstEntry,
      row.lastEntry,
      row.firstChange,
      row.lastChange,
      row.postings,
      row.bytes,
      row.grown,
      row.words ?? null,
      row.columns ?? null,
      row.words === undefined ? 1 : 0,
      row.columns === undefined ? 1 : 0,
    ],
    key: ({ number }, namespace) => [namespace * KEYS + number],
  },
  wordBlocks: {
    put: `INSERT INTO memory_word_block (segment, first, slot, data) VALUES (?, ?, ?, ?)
      ON CONFLICT (segment, first, slot) DO UPDATE SET data = excluded.data`,
    remove: "DELETE FROM memory_word_block WHERE segment = ? AND first = ? AND slot = ?",
    values: ({ segment, first, slot, data }, namespace) => [
      namespace * KEYS + segment,
      first,
      slot,
      data,
    ],
    key: ({ segment, first, slot }, namespace) => [namespace * KEYS + segment, first, slot],
  },
  columnBlocks: {
    put: `INSERT INTO memory_column_block (key, changed, data) VALUES (?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET changed = excluded.changed, data = excluded.data`,
    remove: "DELETE FROM memory_column_block WHERE key = ?",
    values: (row, namespace) => [columnKey(row, namespace), row.changed, row.data],
    key: (row, namespace) => [columnKey(row, namespace)],
  },
  spaces: {
    put: `INSERT INTO memory_vector_space
        (number, namespace, embedder, dimensions, changes, passages, unrelated, related)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (number) DO UPDATE SET changes = excluded.changes,
        passages = excluded.passages, unrelated = excluded.unrelated, related = excluded.related`,
    remove: "DELETE FROM memory_vector_space WHERE number = ?",
    values: (row, namespace) => [
      row.number || null,
      namespace,
      row.embedder,
      row.dimensions,
      row.changes,
      row.passages,
      row.unrelated,
      row.related,
    ],
    key: ({ number }) => [number],
  },
  vectors: {
    put: "INSERT OR REPLACE INTO memory_vector (key, row) VALUES (?, ?)",
    remove: "DELETE FROM memory_vector WHERE key = ?",
    values: ({ space, slot, row }) => [space * KEYS + slot, row],
    key: ({ space, slot }) => [space * KEYS + slot],
  },
  codeBlocks: {
    put: `INSERT INTO memory_code_block (key, changed, codes) VALUES (?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET changed = excluded.changed, codes = excluded.codes`,
    remove: "DELETE FROM memory_code_block WHERE key = ?",
    values: ({ space, block, changed, codes }) => [space * KEYS + block, changed, codes],
    key: ({ space, block }) => [space * KEYS + block],
  },
};

function columnKey(row: KeyOf<"columnBlocks">, namespace: number): number {
  return namespace * KEYS + (row.generation % 2) * GENERATION_KEYS + row.block;
}
