import type {
  ColumnBlockRow,
  EntryRow,
  Head,
  LabelRow,
  LastNumbers,
  Segment,
  SessionRow,
  SmallSegment,
  WordBlockRow,
} from "../../indexing/port/index-store.ts";
import type { PartSql, ReadRow } from "./question-batch.ts";
import { fromPostgres } from "./statements.ts";

// The statements of the index, and readers of their rows.

/** The number of the namespace. */
export const NAMESPACE = "(select number from head)";

/** Reads fields in this order. */
export function reader<Row>(...names: readonly (keyof Row)[]): (fields: readonly unknown[]) => Row {
  return (fields) => {
    const row: { [Name in keyof Row]?: unknown } = {};
    for (let at = 0; at < names.length; at += 1) row[names[at] as keyof Row] = fields[at];
    return row as Row;
  };
}

/** The row of a namespace, with what only this store counts. */
export interface StoredHead extends Head {
  readonly number: number;
  readonly saves: number;
  readonly removals: number;
}

export const HEAD: PartSql = {
  fields: `number, saves, removed, version, generation, changes, removed_at, columns_at, stored, slots,
    passages, rebuilt, rebuilt_version`,
  from: "from head",
};
export const headOf = reader<StoredHead>(
  "number",
  "saves",
  "removals",
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

/** The stored head as the port has it. */
export function portHead({ number: _, saves: __, removals: ___, ...head }: StoredHead): Head {
  return head;
}

const SEGMENT = `s.number, s.generation, s.state, s.becomes, s.level, s.first_entry, s.last_entry,
  s.first_change, s.last_change, s.postings, s.bytes`;
export function segments(from: string): PartSql {
  return { fields: SEGMENT, one: "s.grown", from };
}
const storedSegment = reader<Segment>(
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
);
export const segmentOf: ReadRow<Segment> = (fields, grown) => ({ ...storedSegment(fields), grown });

export function smallSegments(from: string): PartSql {
  return { fields: "s.number", one: "s.words", other: "s.columns", from };
}
export const smallSegmentOf: ReadRow<SmallSegment> = ([number = 0], words, columns) => ({
  number,
  words,
  columns,
});

/** `at` is the place of the wanted blocks among all that were asked for. */
export function wordBlocks(from: string, at = "0"): PartSql {
  return { fields: `${at}, b.segment, b.slot`, one: "b.first", other: "b.data", from };
}
export interface FoundBlock extends WordBlockRow {
  readonly at: number;
}
export const wordBlockOf: ReadRow<FoundBlock> = ([at = 0, segment = 0, slot = 0], first, data) => ({
  at,
  segment,
  slot,
  first: first ?? NO_BYTES,
  data: data ?? NO_BYTES,
});
export const NO_BYTES = new Uint8Array();

export function columnBlocks(from: string): PartSql {
  return { fields: "c.block, c.changed", one: "c.data", from };
}
export function columnBlockOf(generation: number): ReadRow<ColumnBlockRow> {
  return ([block = 0, changed = 0], data) => ({
    generation,
    block,
    changed,
    data: data ?? NO_BYTES,
  });
}

// Look-ups in the list of fields are done for the rows found only, whatever the planner expects.
const ENTRY = `e.key, e.id, e.session, e.slot, e.passages, e.turn, e.kind, e.time, e.role, e.speaker,
  e.source_from, e.source_to, e.content, e.marks,
  (select s.id from rkat.memory_session s where s.namespace = e.namespace and s.number = e.session),
  (select l.text from rkat.memory_label l where l.namespace = e.namespace and l.number = e.role),
  (select l.text from rkat.memory_label l where l.namespace = e.namespace and l.number = e.speaker)`;
export function entries(condition: string): PartSql {
  const from = `from rkat.memory_entry e where e.namespace = ${NAMESPACE} and ${condition}`;
  return { fields: ENTRY, from };
}
const storedEntry = reader<EntryRow>(
  "key",
  "id",
  "session",
  "slot",
  "passages",
  "turn",
  "kind",
  "time",
  "role",
  "speaker",
  "sourceFrom",
  "sourceTo",
  "content",
  "marks",
  "sessionId",
  "roleText",
  "speakerText",
);
export const entryOf: ReadRow<EntryRow> = (fields) => {
  const row = storedEntry(fields);
  return {
    ...row,
    id: fromPostgres(row.id),
    content: fromPostgres(row.content),
    sessionId: fromPostgres(row.sessionId),
    roleText: row.roleText === null ? null : fromPostgres(row.roleText),
    speakerText: row.speakerText === null ? null : fromPostgres(row.speakerText),
  };
};

export function sessions(condition: string): PartSql {
  return {
    fields: "s.number, s.id, s.entries, s.text_bytes, s.runs",
    from: `from rkat.memory_session s where s.namespace = ${NAMESPACE} and ${condition}`,
  };
}
type StoredSession = Omit<SessionRow, "runs"> & { readonly runs: [number, number, number][] };
const storedSession = reader<StoredSession>("number", "id", "entries", "textBytes", "runs");
export const sessionOf: ReadRow<SessionRow> = (fields) => {
  const { id, runs, ...row } = storedSession(fields);
  return {
    ...row,
    id: fromPostgres(id),
    runs: runs.map(([first, size, used]) => ({ first, size, used })),
  };
};

export function labels(condition: string): PartSql {
  return {
    fields: "l.number, l.text, l.uses",
    from: `from rkat.memory_label l where l.namespace = ${NAMESPACE} and ${condition}`,
  };
}
const storedLabel = reader<LabelRow>("number", "text", "uses");
export const labelOf: ReadRow<LabelRow> = (fields) => {
  const row = storedLabel(fields);
  return { ...row, text: fromPostgres(row.text) };
};

export const firstNumber: ReadRow<number> = ([number = 0]) => number;
export const firstText: ReadRow<string> = ([text = ""]) => fromPostgres(text);

export const LAST_NUMBERS: PartSql = {
  fields: `(select coalesce(max(s.number), 0) from rkat.memory_session s where s.namespace = ${NAMESPACE}),
    (select coalesce(max(l.number), 0) from rkat.memory_label l where l.namespace = ${NAMESPACE}),
    exists (select 1 from rkat.memory_free_run r where r.namespace = ${NAMESPACE})`,
  from: "",
};
export const lastNumbersOf = reader<LastNumbers>("session", "label", "hasFreeRuns");

export const COUNTS: PartSql = {
  fields: "count(*), coalesce(sum(e.passages), 0)",
  from: `from rkat.memory_entry e where e.namespace = ${NAMESPACE}`,
};

/** The sessions with wrong counts. Bytes are counted without the additions of `toPostgres`. */
export const WRONG_SESSIONS: PartSql = {
  fields: "s.number, s.id, coalesce(c.entries, 0), coalesce(c.text_bytes, 0), s.runs",
  from: `from rkat.memory_session s left join (
      select e.session, count(*) as entries, sum(octet_length(replace(e.content, chr(1), ''))) as text_bytes
      from rkat.memory_entry e where e.namespace = ${NAMESPACE} group by e.session
    ) as c on c.session = s.number
    where s.namespace = ${NAMESPACE}
      and (s.entries is distinct from c.entries or s.text_bytes is distinct from c.text_bytes)`,
};

export const WRONG_LABELS: PartSql = {
  fields: "l.number, l.text, coalesce(c.uses, 0)",
  from: `from rkat.memory_label l left join (
      select used.number, count(*) as uses
      from rkat.memory_entry e cross join lateral (values (e.role), (e.speaker)) as used (number)
      where e.namespace = ${NAMESPACE} and used.number <> 0 group by used.number
    ) as c on c.number = l.number
    where l.namespace = ${NAMESPACE} and l.uses <> coalesce(c.uses, 0)`,
};

/** The statistics of the session with an id, or of all when it is null. */
export function stats(id: string): PartSql {
  return {
    fields: "a.entries, a.sessions, a.text_bytes, b.segments, b.postings, b.bytes + c.bytes",
    from: `from (
        select coalesce(sum(s.entries), 0) as entries, count(*) as sessions,
          coalesce(sum(s.text_bytes), 0) as text_bytes
        from rkat.memory_session s where s.namespace = ${NAMESPACE} and (${id} is null or s.id = ${id})
      ) as a, (
        select count(*) as segments, coalesce(sum(s.postings), 0) as postings, coalesce(sum(s.bytes), 0) as bytes
        from rkat.memory_segment s, head
        where s.namespace = head.number and s.generation = head.generation and s.state = 'whole'
      ) as b, (
        select coalesce(sum(octet_length(c.data)), 0) as bytes
        from rkat.memory_column_block c where c.namespace = ${NAMESPACE}
      ) as c`,
  };
}
