import { newId } from "../../core/ids.ts";
import {
  type Changes,
  type Head,
  KEYS,
  type KeyOf,
  type TableName,
  type Tables,
} from "../../indexing/port/index-store.ts";
import { isWaiting, type WaitingEntries } from "./waiting-entries.ts";

type Type =
  | "uuid"
  | "bigint"
  | "integer"
  | "boolean"
  | "double precision"
  | "text"
  | "json"
  | "tid"
  | "bytea";

/** A field of a row, whose column has the same name in snake_case. */
type Fields = Readonly<Record<string, Type>>;

/** The columns of a table, for the statements that write its rows. */
interface Written<Name extends TableName> {
  readonly table: string;
  readonly key: Fields;
  readonly others: Fields;
  /** Its rows are those of a vector space, which is of one namespace. */
  readonly isOfSpace?: true;
  /** The fields of a row or of its key, where they are not those of the port. */
  fieldsOf?(row: Tables[Name] | KeyOf<Name>): object;
}

interface Save {
  /** The number of saves of the namespace when it was read; `undefined` when it is new. */
  readonly saves: number | undefined;
  /** Entries that were ever stored when it was read. Those with higher keys are new. */
  readonly stored: number;
  /** Otherwise a power failure may undo it. */
  readonly isSynced: boolean;
  /** Entries that it takes out of those that wait. If some of them are gone, nothing happens. */
  readonly folds?: WaitingEntries | undefined;
  readonly changes: Changes;
}

/**
 * One statement that saves everything or nothing:
 *
 *     head      counts the save, if nothing was saved since `saves` was read: otherwise nothing happens
 *     gone_…    removes rows of a table, and entries that wait no longer
 *     put_…     then puts rows there
 *
 * The rows of a table travel as one array for each column, with blobs in base64. The answer has one row if it
 * was saved.
 */
export class SaveStatement {
  readonly sql: string;
  readonly values: unknown[] = [];
  /** Whether it removes rows. */
  readonly removes: boolean;

  constructor(namespace: string, { saves, stored, isSynced, folds, changes }: Save) {
    this.removes = Object.values(changes.remove).some((keys) => keys.length > 0);
    const name = this.#bind(namespace, "text");
    // When a connection was lost, the statement is sent again, and finds by it that it was done.
    const id = this.#bind(newId(), "uuid");
    const waiting = folds && {
      rows: `namespace = ${name} and ${isWaiting(this.#bind(folds.places, "tid[]"), this.#bind(folds.numbers, "bigint[]"))}`,
      count: this.#bind(folds.numbers.length, "bigint"),
    };
    const isThere = waiting
      ? `(select count(*) from rkat.memory_waiting where ${waiting.rows}) = ${waiting.count}`
      : "true";
    const parts = [`head as (${this.#head({ name, id, saves, changes, isThere })})`];
    if (waiting) {
      parts.push(`gone_waiting as (delete from rkat.memory_waiting
        where ${waiting.rows} and exists (select from head) returning 1)`);
    }
    for (const table of Object.keys(WRITTEN) as TableName[]) {
      const remove = changes.remove[table] ?? [];
      const put = groupsOf(table, changes.put[table] ?? []);
      if (remove.length > 0) parts.push(this.#remove(table, remove));
      for (const [at, rows] of put.entries()) {
        const areNew = rows.every(
          (row) => table === "entries" && "key" in row && row.key >= stored,
        );
        parts.push(this.#put(table, rows, { at, areNew, isAfter: remove.length > 0 }));
      }
    }
    const saved = isSynced ? "'saved'" : "set_config('synchronous_commit', 'off', true)";
    this.sql = `with ${parts.join(",\n")} select ${saved} from head
      union all select 'saved' from rkat.memory_namespace where name = ${name} and saved_by = ${id}`;
  }

  #bind(value: unknown, type: Type | `${Type}[]`): string {
    return `$${this.values.push(value)}::${type}`;
  }

  #head({ name, id, saves, isThere, changes: { head, remove } }: HeadParts): string {
    const columns = Object.entries(HEAD).map(([field, type]) => ({
      column: columnOf(field),
      value: this.#bind(head[field as keyof Head], type),
    }));
    if (saves === undefined) {
      return `insert into rkat.memory_namespace
          (name, saved_by, saves, removed, ${columns.map(({ column }) => column)})
        select ${name}, ${id}, 1, 0, ${columns.map(({ value }) => value)} where ${isThere}
        on conflict (name) do nothing returning number`;
    }
    const removes = SEARCHED.some((table) => (remove[table]?.length ?? 0) > 0);
    return `update rkat.memory_namespace
      set saved_by = ${id}, saves = saves + 1, removed = removed + ${removes ? 1 : 0},
        ${columns.map(({ column, value }) => `${column} = ${value}`)}
      where name = ${name} and saves = ${this.#bind(saves, "bigint")} and ${isThere} returning number`;
  }

  #remove<Name extends TableName>(name: Name, keys: readonly KeyOf<Name>[]): string {
    const { table, key, isOfSpace } = WRITTEN[name];
    const own = isOfSpace ? "" : "t.namespace = head.number and";
    const isSame = Object.keys(key).map(
      (field) => `t.${columnOf(field)} = ${received(field, key)}`,
    );
    return `gone_${table} as (delete from rkat.${table} t using head, ${this.#rows(name, key, keys)}
      where ${own} ${isSame.join(" and ")} returning 1)`;
  }

  /** Rows that have the same fields. An insert without `on conflict`, of rows that are new, writes less. */
  #put<Name extends TableName>(
    name: Name,
    rows: readonly Tables[Name][],
    { at, areNew, isAfter }: { at: number; areNew: boolean; isAfter: boolean },
  ): string {
    const { table, key, others, isOfSpace } = WRITTEN[name];
    const sent = fieldsOf(name, rows[0] as Tables[Name]);
    const fields = Object.fromEntries(
      Object.entries({ ...key, ...others }).filter(([field]) => sent[field] !== undefined),
    );
    const names = Object.keys(fields);
    const changed = names.filter((field) => field in others).map(columnOf);
    const keys = [...(isOfSpace ? [] : ["namespace"]), ...Object.keys(key).map(columnOf)];
    const update = changed.map((column) => `${column} = excluded.${column}`);
    return `put_${table}_${at} as (
      insert into rkat.${table} (${[...(isOfSpace ? [] : ["namespace"]), ...names.map(columnOf)]})
      select ${[...(isOfSpace ? [] : ["head.number"]), ...names.map((field) => received(field, fields))]}
      from head, ${this.#rows(name, fields, rows)}
      ${isAfter ? `where (select count(*) from gone_${table}) >= 0` : ""}
      ${areNew ? "" : `on conflict (${keys}) do ${update.length > 0 ? `update set ${update}` : "nothing"}`}
      returning 1)`;
  }

  #rows<Name extends TableName>(
    name: Name,
    fields: Fields,
    rows: readonly (Tables[Name] | KeyOf<Name>)[],
  ): string {
    const all = rows.map((row) => fieldsOf(name, row));
    const columns = Object.entries(fields).map(([field, type]) => {
      const sent = all.map((values) => sentValue(values[field], type));
      return this.#bind(sent, type === "bytea" ? "text[]" : `${type}[]`);
    });
    return `unnest(${columns}) as r (${Object.keys(fields).map(columnOf)})`;
  }
}

interface HeadParts {
  /** Places of values in the SQL. */
  readonly name: string;
  readonly id: string;
  readonly saves: number | undefined;
  readonly changes: Changes;
  /** A condition: what it folds is still there. */
  readonly isThere: string;
}

/** Rows that a search under way may read again. */
const SEARCHED: readonly TableName[] = ["entries", "sessions", "vectors", "spaces"];

const HEAD: { readonly [Name in keyof Head]: Type } = {
  version: "integer",
  generation: "integer",
  changes: "bigint",
  removedAt: "bigint",
  columnsAt: "bigint",
  stored: "bigint",
  slots: "bigint",
  passages: "bigint",
  rebuilt: "bigint",
  rebuiltVersion: "integer",
};

const WRITTEN: { readonly [Name in TableName]: Written<Name> } = {
  sessions: {
    table: "memory_session",
    key: { number: "integer" },
    others: { id: "text", entries: "bigint", textBytes: "bigint", runs: "json" },
    fieldsOf: (row) =>
      "runs" in row
        ? { ...row, runs: row.runs.map(({ first, size, used }) => [first, size, used]) }
        : row,
  },
  labels: {
    table: "memory_label",
    key: { number: "integer" },
    others: { text: "text", uses: "bigint" },
  },
  freeRuns: { table: "memory_free_run", key: { size: "bigint", first: "bigint" }, others: {} },
  entries: {
    table: "memory_entry",
    key: { key: "bigint" },
    others: {
      id: "text",
      session: "integer",
      slot: "bigint",
      passages: "integer",
      turn: "bigint",
      kind: "integer",
      time: "json",
      role: "integer",
      speaker: "integer",
      sourceFrom: "bigint",
      sourceTo: "bigint",
      content: "text",
      marks: "text",
    },
  },
  segments: {
    table: "memory_segment",
    key: { number: "bigint" },
    others: {
      generation: "integer",
      state: "text",
      becomes: "bigint",
      level: "integer",
      firstEntry: "bigint",
      lastEntry: "bigint",
      firstChange: "bigint",
      lastChange: "bigint",
      postings: "bigint",
      bytes: "bigint",
      grown: "bytea",
      words: "bytea",
      columns: "bytea",
    },
  },
  wordBlocks: {
    table: "memory_word_block",
    key: { segment: "bigint", first: "bytea", slot: "bigint" },
    others: { data: "bytea" },
  },
  columnBlocks: {
    table: "memory_column_block",
    key: { isOdd: "boolean", block: "integer" },
    others: { changed: "bigint", data: "bytea" },
    fieldsOf: (row) => ({ ...row, isOdd: row.generation % 2 === 1 }),
  },
  spaces: {
    table: "memory_vector_space",
    key: { number: "integer" },
    others: {
      embedder: "text",
      dimensions: "integer",
      changes: "bigint",
      passages: "bigint",
      unrelated: "double precision",
      related: "double precision",
    },
    // The server gives a new space its number.
    fieldsOf: (row) => ({ ...row, number: row.number || undefined }),
  },
  vectors: {
    table: "memory_vector",
    key: { space: "integer", slot: "bigint" },
    others: { row: "bytea" },
    isOfSpace: true,
  },
  codeBlocks: {
    table: "memory_code_block",
    key: { space: "integer", block: "integer" },
    others: { changed: "bigint", codes: "bytea" },
    isOfSpace: true,
  },
};

function fieldsOf<Name extends TableName>(
  name: Name,
  row: Tables[Name] | KeyOf<Name>,
): Readonly<Record<string, unknown>> {
  return (WRITTEN[name].fieldsOf?.(row) ?? row) as Record<string, unknown>;
}

/**
 * The rows to put, each key once with the last of its rows, in groups that have the same fields. A field
 * that is `undefined` stays as it is.
 */
function groupsOf<Name extends TableName>(
  name: Name,
  rows: readonly Tables[Name][],
): readonly (readonly Tables[Name][])[] {
  if (rows.length < 2) return rows.length === 0 ? [] : [rows];
  const byKey = new Map<string, Tables[Name]>();
  for (const row of rows) {
    const values = row as Readonly<Record<string, unknown>>;
    const key = KEYS[name].map((field) => keyText(values[field])).join(" ");
    const before = byKey.get(key);
    byKey.set(key, before ? { ...before, ...defined(row) } : row);
  }
  const fields = Object.keys(WRITTEN[name].others);
  const absent = (row: Tables[Name]) =>
    fields.filter((field) => (row as Readonly<Record<string, unknown>>)[field] === undefined);
  return [...Map.groupBy(byKey.values(), (row) => absent(row).join()).values()];
}

function keyText(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : String(value);
}

function defined<Row extends object>(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)) as Row;
}

function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function sentValue(value: unknown, type: Type): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  return type === "json" && value !== null ? JSON.stringify(value) : value;
}

function received(field: string, fields: Fields): string {
  const column = `r.${columnOf(field)}`;
  return fields[field] === "bytea" ? `decode(${column}, 'base64')` : column;
}
