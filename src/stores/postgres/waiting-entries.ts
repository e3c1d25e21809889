import { randomBytes } from "node:crypto";
import type { MemoryEntry } from "../../core/memory-store.ts";
import { storedMemory } from "../stored-json.ts";
import { GroupedWork } from "./grouped-work.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import { isDuplicate } from "./postgres-failure.ts";
import type { Statements } from "./statements.ts";

/*
 * Single entries wait in a table before the index, so that writers do not wait for each other:
 *
 *     add ─► memory_waiting ─► fold ─► memory_entry, and the blocks of the index
 *
 * An add is one insert. A question to the index says in the same statement whether entries wait. If some do, the asking
 * process folds all of them into the index with one save, and asks again. So a search finds what any process had added before it began.
 */

/** Adds of more entries go into the index at once. */
const FEW_ENTRIES = 16;
/** Indexes of PostgreSQL take a third of a page. A longer name may be refused, and what waits must not be. */
const NAME_BYTES_MAX = 1000;

/** Whether an add can wait: it has few entries, and the index will take each of them. */
export function mayWait(entries: readonly MemoryEntry[]): boolean {
  return (
    entries.length <= FEW_ENTRIES &&
    entries.every(({ sessionId, role = "", speaker = "" }) =>
      [sessionId, role, speaker].every((name) => Buffer.byteLength(name) <= NAME_BYTES_MAX),
    )
  );
}
/** Entries that one fold takes. */
const FOLD_MAX = 128;

/** The condition that entries of the namespace `$1` wait. */
export const ENTRIES_WAIT =
  "from (select from rkat.memory_waiting where namespace = $1::text limit 1) as waiting";

export const MANY_WAIT = `
  select from rkat.memory_waiting where namespace = $1::text offset ${FOLD_MAX} limit 1`;

/**
 * `$4` says that it was sent before: what is there with the text that was sent, which no other add has, was new then.
 * An insert without `on conflict` writes a third less. It fails as a whole when another process adds the same entry in this moment.
 */
const ADD = adding("");
const ADD_UNLESS_THERE = adding("on conflict do nothing");

function adding(onConflict: string): string {
  return `
  with asked as (
    select * from unnest($1::text[], $2::text[], $3::text[]) with ordinality
      as asked (namespace, id, entry, at)
  ), added as (
    insert into rkat.memory_waiting (namespace, id, entry)
    select namespace, id, entry from asked
    where not exists (
      select from rkat.memory_entry e
      where e.namespace = (select number from rkat.memory_namespace n where n.name = asked.namespace)
        and e.id = asked.id offset 0)
      -- One that is folded while this statement runs hinders no insert, and its snapshot has no other place for it.
      and not exists (
        select from rkat.memory_waiting w
        where w.namespace = asked.namespace and w.id = asked.id offset 0)
    order by at
    ${onConflict} returning namespace, id
  )
  select namespace, id from added
  union all
  select w.namespace, w.id from rkat.memory_waiting w join asked using (namespace, id)
  where $4::boolean and w.entry = asked.entry`;
}

const OLDEST = `
  select ctid::text as place, number, id, entry from rkat.memory_waiting where namespace = $1::text
  order by number limit ${FOLD_MAX}`;

/** Entries that wait, and where their rows are. */
export interface WaitingEntries {
  /** In the order in which they came. */
  readonly entries: readonly MemoryEntry[];
  readonly places: readonly string[];
  readonly numbers: readonly number[];
  /** Whether there may be more. */
  readonly more: boolean;
}

export async function readWaiting(
  statements: Statements,
  namespace: string,
): Promise<WaitingEntries> {
  const rows = await statements.prepared<WaitingRow>(OLDEST, namespace);
  return {
    entries: rows.map(({ id, entry }): MemoryEntry => ({ ...storedMemory(entry), id })),
    places: rows.map(({ place }) => place),
    numbers: rows.map(({ number }) => number),
    more: rows.length === FOLD_MAX,
  };
}

interface WaitingRow {
  readonly place: string;
  readonly number: number;
  readonly id: string;
  readonly entry: string;
}

/** The condition that a row is one of these. Another row may have come to its place, with another number. */
export function isWaiting(places: string, numbers: string): string {
  return `ctid = any (${places}) and number = any (${numbers})`;
}

const DROP = `delete from rkat.memory_waiting where namespace = $1::text and ${isWaiting("$2::tid[]", "$3::bigint[]")}`;

/** Drops entries that the index has already. */
export async function dropWaiting(
  statements: Statements,
  namespace: string,
  { places, numbers }: WaitingEntries,
): Promise<void> {
  await statements.change(DROP, namespace, places, numbers);
}

/** Entries and characters of a statement that has more than one add. */
const GROUP = { entriesMax: 200, charactersMax: 500_000 } as const;

interface Add {
  readonly namespace: string;
  /** The JSON of each entry without its id, and with a name of this add, by its id. */
  readonly entries: ReadonlyMap<string, string>;
  readonly characters: number;
}

/** Sends the adds that wait at the same time as one statement, for all namespaces of a process. */
export class GroupedAdds {
  readonly #work: GroupedWork<Add, number>;

  constructor(database: PostgresDatabase) {
    this.#work = new GroupedWork(database, { take: fittingAdds, send: addAll });
  }

  /** Returns how many were new. They wait until they are folded. */
  add(namespace: string, added: readonly MemoryEntry[]): Promise<number> {
    const entries = new Map<string, string>();
    const add = randomBytes(3).toString("base64url");
    for (const { id, ...rest } of added) {
      // Half a character is stored as a sign for it.
      const stored = id.toWellFormed();
      if (!entries.has(stored)) entries.set(stored, JSON.stringify({ ...rest, add }));
    }
    const characters = [...entries.values()].reduce((sum, { length }) => sum + length, 0);
    return this.#work.do({ namespace, entries, characters });
  }
}

function fittingAdds(waiting: readonly Add[]): readonly Add[] {
  let [entries, characters] = [0, 0];
  const end = waiting.findIndex((add, at) => {
    entries += add.entries.size;
    characters += add.characters;
    return at > 0 && (entries > GROUP.entriesMax || characters > GROUP.charactersMax);
  });
  return end < 0 ? waiting : waiting.slice(0, end);
}

/** How many entries of each add were new. Of two adds with the same entry, the first one stores it. */
async function addAll(
  statements: Statements,
  group: readonly Add[],
  isAgain: boolean,
): Promise<readonly number[]> {
  const sent = group.flatMap(({ namespace, entries }) =>
    [...entries].map(([id, entry]) => ({ namespace, id, entry })),
  );
  const columns = [
    sent.map(({ namespace }) => namespace),
    sent.map(({ id }) => id),
    sent.map(({ entry }) => entry),
  ];
  const add = (sql: string) => statements.prepared<AddedRow>(sql, ...columns, isAgain);
  const rows = await add(ADD).catch((error) => {
    if (!isDuplicate(error)) throw error;
    return add(ADD_UNLESS_THERE);
  });
  const added = new Set(rows.map(({ namespace, id }) => keyOf(namespace, id)));
  return group.map(
    ({ namespace, entries }) =>
      [...entries.keys()].filter((id) => added.delete(keyOf(namespace, id))).length,
  );
}

interface AddedRow {
  readonly namespace: string;
  readonly id: string;
}

function keyOf(namespace: string, id: string): string {
  return JSON.stringify([namespace, id]);
}
