import type { SQLOutputValue } from "node:sqlite";
import type {
  EntryRow,
  Head,
  LabelRow,
  Run,
  Segment,
  SessionRow,
} from "../../indexing/port/index-store.ts";

// The statements of the index, and readers of their rows, which come as arrays of their columns.

type Values = readonly SQLOutputValue[];

/** Reads the columns of a row, in this order. SQLite's own objects are slow to read and to copy. */
function reader<Row>(...names: readonly (keyof Row)[]): (values: Values) => Row {
  return (values) => {
    const row: { [Name in keyof Row]?: unknown } = {};
    for (let at = 0; at < names.length; at += 1) row[names[at] as keyof Row] = values[at];
    return row as Row;
  };
}

export const HEAD = `SELECT number, version, generation, changes, removed_at, columns_at, stored, slots, passages,
    rebuilt, rebuilt_version
  FROM memory_namespace WHERE name = ?`;
export const headOf = reader<Head & { readonly number: number }>(
  "number",
  "version",
  "generation",
  "changes",
  "removedAt",
  "columnsAt",
  "stored",
  "slots",
  "passages",
  "rebuilt",
  "rebuiltVersion",
);
export const NEW_NAMESPACE = `INSERT INTO memory_namespace
    (number, name, version, generation, changes, removed_at, columns_at, stored, slots, passages)
  SELECT coalesce(max(number) + 1, 0), ?, ?, 0, 0, 0, 0, 0, 0, 0 FROM memory_namespace`;

export const SEGMENTS = `SELECT key - ?1, generation, state, becomes, level, first_entry, last_entry, first_change,
    last_change, postings, bytes, grown
  FROM memory_segment WHERE key BETWEEN ?1 AND ?2 ORDER BY key`;
export const segmentOf = reader<Segment>(
  "number",
  "generation",
  "state",
  "becomes",
  "level",
  "firstEntry",
  "lastEntry",
  "firstChange",
  "lastChange",
  "postings",
  "bytes",
  "grown",
);
export const BLOBS = "SELECT words, columns FROM memory_segment WHERE key = ?";

const BLOCK = "SELECT first, slot, data FROM memory_word_block WHERE segment = ?";
export const ALL_BLOCKS = `${BLOCK} ORDER BY first, slot`;
/** The last block that begins with the word or with one before it. */
export const LAST_BLOCK = `${BLOCK} AND first <= ? ORDER BY first DESC, slot DESC LIMIT 1`;
export const PARTS = `${BLOCK} AND first = ? ORDER BY slot`;
export const BLOCKS_BETWEEN = `${BLOCK} AND first > ? AND first <= ? ORDER BY first, slot`;
export const BLOCKS_FROM = `${BLOCK} AND first >= ? ORDER BY first, slot LIMIT ?`;
export const BLOCK_OF_SLOT = `${BLOCK} AND (first, slot) <= (?, ?) ORDER BY first DESC, slot DESC LIMIT 1`;

export const COLUMN_BLOCK = "SELECT changed, data FROM memory_column_block WHERE key = ?";
export const COLUMN_BLOCK_KEYS =
  "SELECT key FROM memory_column_block WHERE key BETWEEN ? AND ? LIMIT ?";
export const COLUMN_BLOCKS = `SELECT key, changed, data FROM memory_column_block
  WHERE key BETWEEN ? AND ? AND changed > ?`;

const ENTRY = `SELECT key, entry.session, session.id, slot, passages, entry.id, turn, kind, time, role,
    speaker, source_from, source_to, content, marks
  FROM memory_entry AS entry
  JOIN memory_session AS session
    ON session.namespace = entry.namespace AND session.number = entry.session
  WHERE`;
const storedEntry = reader<Omit<EntryRow, "roleText" | "speakerText">>(
  "key",
  "session",
  "sessionId",
  "slot",
  "passages",
  "id",
  "turn",
  "kind",
  "time",
  "role",
  "speaker",
  "sourceFrom",
  "sourceTo",
  "content",
  "marks",
);

/** `first` is the key before those of the namespace, and `labelText` gives the text of a label. */
export function entryOf(
  values: Values,
  first: number,
  labelText: (number: number) => string | null,
): EntryRow {
  const row = storedEntry(values);
  const { key, role, speaker } = row;
  const label = (number: number | null) => (number === null ? null : labelText(number));
  return {
    ...row,
    key: key - first,
    role: role ?? 0,
    speaker: speaker ?? 0,
    roleText: label(role),
    speakerText: label(speaker),
  };
}

export const ENTRIES_AT = `${ENTRY} entry.namespace = ? AND slot IN (SELECT value FROM json_each(?))`;
export const ENTRY_OF_ID = `${ENTRY} entry.namespace = ? AND entry.id = ?`;
export const ENTRIES_AFTER = `${ENTRY} key > ? AND key <= ? ORDER BY key LIMIT ?`;
export const ENTRIES_MARKED = `${ENTRY} entry.namespace = ? AND marks IS NOT NULL AND key > ?
  ORDER BY key LIMIT ?`;
export const ENTRIES_BETWEEN = `${ENTRY} entry.namespace = ? AND slot BETWEEN ? AND ? AND key > ?
  ORDER BY slot LIMIT ?`;
export const LABEL_TEXT = "SELECT text FROM memory_label WHERE namespace = ? AND number = ?";
export const ENTRY_SLOTS = "SELECT slot, passages FROM memory_entry WHERE key = ?";
export const HAS_ID = "SELECT 1 FROM memory_entry WHERE namespace = ? AND id = ?";

export const SESSION = `SELECT number, id, entries, text_bytes, runs FROM memory_session
  WHERE namespace = ?`;
const storedSession = reader<Omit<SessionRow, "runs"> & { readonly runs: string }>(
  "number",
  "id",
  "entries",
  "textBytes",
  "runs",
);

export function sessionOf(values: Values): SessionRow {
  const { runs, ...row } = storedSession(values);
  const all = JSON.parse(runs) as [number, number, number][];
  return { ...row, runs: all.map(([first, size, used]): Run => ({ first, size, used })) };
}

export const SESSION_OF_ID = `${SESSION} AND id = ?`;
export const SESSION_OF_NUMBER = `${SESSION} AND number = ?`;
export const SESSION_NUMBER = "SELECT number FROM memory_session WHERE namespace = ? AND id = ?";
export const SESSIONS_BEHIND = `SELECT count(*) AS count, coalesce(max(number), 0) AS last FROM memory_session
  WHERE namespace = ? AND number > ?`;
const LABEL = "SELECT number, text, uses FROM memory_label WHERE namespace = ?";
export const labelOf = reader<LabelRow>("number", "text", "uses");
export const LABEL_OF_TEXT = `${LABEL} AND text = ?`;
export const LABELS_AFTER = `${LABEL} AND number > ?`;
export const LAST_NUMBERS = `SELECT
    coalesce((SELECT max(number) FROM memory_session WHERE namespace = ?1), 0) AS session,
    coalesce((SELECT max(number) FROM memory_label WHERE namespace = ?1), 0) AS label,
    EXISTS (SELECT 1 FROM memory_free_run WHERE namespace = ?1) AS has_free_runs`;
export const FREE_RUNS = `SELECT size, first FROM memory_free_run
  WHERE namespace = ? AND size BETWEEN ? AND ? ORDER BY size, first LIMIT ?`;

export const COUNT = `SELECT count(*) AS entries, coalesce(sum(passages), 0) AS passages
  FROM memory_entry WHERE namespace = ?`;
export const WRONG_SESSIONS = `
  SELECT session.number, session.id, coalesce(counted.entries, 0) AS entries,
         coalesce(counted.text_bytes, 0) AS textBytes, runs
  FROM memory_session AS session
  LEFT JOIN (
    SELECT session, count(*) AS entries, sum(length(CAST(content AS BLOB))) AS text_bytes
    FROM memory_entry WHERE namespace = ?1 GROUP BY session
  ) AS counted ON counted.session = session.number
  WHERE session.namespace = ?1 AND (
    session.entries IS NOT counted.entries OR session.text_bytes IS NOT counted.text_bytes)`;
export const WRONG_LABELS = `
  SELECT label.number, label.text, count(used.number) AS uses
  FROM memory_label AS label
  LEFT JOIN (
    SELECT role AS number FROM memory_entry WHERE namespace = ?1 AND role IS NOT NULL
    UNION ALL
    SELECT speaker FROM memory_entry WHERE namespace = ?1 AND speaker IS NOT NULL
  ) AS used ON used.number = label.number
  WHERE label.namespace = ?1 GROUP BY label.number HAVING count(used.number) <> label.uses`;
export const STATS = `
  SELECT entries, sessions, textBytes, segments, postings, word_bytes + column_bytes AS bytes
  FROM (
    SELECT coalesce(sum(entries), 0) AS entries, count(*) AS sessions,
           coalesce(sum(text_bytes), 0) AS textBytes
    FROM memory_session WHERE namespace = ?1 AND (?2 IS NULL OR id = ?2)
  ), (
    SELECT count(*) AS segments, coalesce(sum(postings), 0) AS postings,
           coalesce(sum(bytes), 0) AS word_bytes
    FROM memory_segment WHERE key BETWEEN ?3 AND ?4 AND generation = ?5 AND state = 'whole'
  ), (
    SELECT coalesce(sum(length(data)), 0) AS column_bytes
    FROM memory_column_block WHERE key BETWEEN ?3 AND ?4
  )`;

export const SPACE = `SELECT number, embedder, dimensions, changes, passages, unrelated, related
  FROM memory_vector_space WHERE namespace = ?`;
export const HAS_VECTOR = "SELECT 1 FROM memory_vector WHERE key = ?";
export const VECTORS = `SELECT key, row IS NULL AS blank FROM memory_vector
  WHERE key > ? AND key <= ? ORDER BY key LIMIT ?`;
export const VECTOR_ROWS = `SELECT key, row FROM memory_vector
  WHERE key IN (SELECT value FROM json_each(?)) AND row IS NOT NULL`;
export const CODE_BLOCK = "SELECT key, changed, codes FROM memory_code_block WHERE key = ?";
export const CODE_BLOCKS = `SELECT key, changed, codes FROM memory_code_block
  WHERE key BETWEEN ? AND ? AND changed > ?`;
/** Any passage may lack its vector: one that could not be embedded is left for later, and the others are not. */
export const LACKING = `SELECT key, slot, passages, content FROM memory_entry AS entry
  WHERE key BETWEEN ?1 AND ?2 AND passages > (
    SELECT count(*) FROM memory_vector
    WHERE key BETWEEN ?3 + entry.slot AND ?3 + entry.slot + entry.passages - 1)
  ORDER BY key DESC LIMIT ?4`;
