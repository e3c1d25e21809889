import { SessionError } from "../../core/errors.ts";
import {
  type ForgottenMarks,
  type ForgottenTexts,
  forgottenCopy,
  forgottenMarks,
  marksOfEach,
  newForgettingKey,
} from "../../core/forgotten-texts.ts";
import {
  type ImportBatch,
  type ImportedFile,
  type ImportKeys,
  type ImportStore,
  importKey,
} from "../../core/import-store.ts";
import { storedFile } from "../stored-json.ts";
import {
  type Asking,
  append,
  type Columns,
  change,
  changed,
  insertAll,
  isIn,
  row,
  rows,
  type Sql,
  sql,
  table,
  transaction,
} from "./sql.ts";
import { saveSnapshot } from "./sql-session-store.ts";

const IS_KNOWN = sql`on conflict do nothing`;

/** Keeps what was imported beside the log, so that both are right after a kill. */
export class SqlImportStore implements Asking<ImportStore & ImportKeys> {
  readonly #namespace: string;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  *known(ids: readonly string[]): Sql<ReadonlySet<string>> {
    const found = yield* rows<{ place: number }>(sql`select place
      from ${table("asked", keysOf(ids.map(importKey)))}
      where exists (select 1 from rkat.imported_message as known
        where known.namespace = ${this.#namespace} and known.id = asked.id)`);
    return new Set(found.flatMap(({ place }) => ids[place - 1] ?? []));
  }

  *commit(
    batches: readonly ImportBatch[],
    files: ReadonlyMap<string, ImportedFile> = new Map(),
    { durable = false }: { readonly durable?: boolean } = {},
  ): Sql<number | undefined> {
    const ids = batches.flatMap((batch) => batch.ids);
    const states = [...files.values()].map((file) => JSON.stringify(file));
    // A transcript has what a power failure takes away, and its file counts as read only after this. A fork or a
    // restored session is nowhere else.
    const isOfFile = !durable && (ids.length > 0 || files.size > 0);
    return yield* transaction(isOfFile ? "write unsynced" : "write", () =>
      this.#commit(batches, ids, [...files.keys()], states),
    );
  }

  *#commit(
    batches: readonly ImportBatch[],
    ids: readonly string[],
    paths: readonly string[],
    states: readonly string[],
  ): Sql<number | undefined> {
    const first = yield* append(this.#namespace, batches);
    if ((yield* this.#add(ids.map(importKey))) < ids.length) {
      throw new SessionError("SESSION_CONFLICT", { detail: "A message was imported meanwhile." });
    }
    for (const { snapshot } of batches) yield* saveSnapshot(this.#namespace, snapshot);
    if (paths.length > 0) {
      const columns: Columns = { path: ["text", paths], state: ["text", states] };
      const isKnown = sql`on conflict (namespace, path) do update set state = excluded.state`;
      yield* change(insertAll("rkat.imported_file", this.#namespace, columns, isKnown));
    }
    return first;
  }

  *files(): Sql<ReadonlyMap<string, ImportedFile>> {
    const found = yield* rows<{ path: string; state: string }>(
      sql`select path, state from rkat.imported_file where namespace = ${this.#namespace}`,
    );
    return new Map(found.map(({ path, state }) => [path, storedFile(state)]));
  }

  *keys(after: string, limit: number): Sql<readonly string[]> {
    const found = yield* rows<{ id: Uint8Array }>(sql`select id from rkat.imported_message
      where namespace = ${this.#namespace} and id > ${Buffer.from(after, "hex")}
      order by id limit ${limit}`);
    return found.map(({ id }) => {
      if (!(id instanceof Uint8Array)) throw new TypeError("an id of a message has no bytes");
      return Buffer.from(id).toString("hex");
    });
  }

  *restore(keys: readonly string[]): Sql<void> {
    yield* this.#add(keys);
  }

  /** Returns how many were not known. */
  *#add(keys: readonly string[]): Sql<number> {
    if (keys.length === 0) return 0;
    return yield* change(
      insertAll("rkat.imported_message", this.#namespace, keysOf(keys), IS_KNOWN),
    );
  }
}

function keysOf(keys: readonly string[]): Columns {
  return { id: ["bytea", keys.map((key) => Buffer.from(key, "hex"))] };
}

/** Keeps the marks of forgotten texts, with a key that the database was given for it. */
export class SqlForgottenTexts implements Asking<ForgottenTexts & ForgottenMarks> {
  readonly #namespace: string;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  *add(sessionId: string, texts: readonly string[]): Sql<void> {
    if (texts.length === 0) return;
    const marks = forgottenMarks(yield* requireKey(), sessionId, texts);
    yield* this.restore(marks.filter((mark) => mark !== undefined));
  }

  *has(sessionId: string, texts: readonly string[]): Sql<readonly boolean[]> {
    const kept = yield* rows<{ key: Uint8Array | null; other: string | null }>(
      sql`select (select key from rkat.forgetting_key) as key, other.mark as other
        from (select 1 from rkat.forgotten_text where namespace = ${this.#namespace} limit 1) as one
        left join rkat.forgotten_text as other
          on other.namespace = ${this.#namespace} and mark >= 'key ' and mark < 'key!'`,
    );
    if (kept.length === 0) return texts.map(() => false);
    const others = kept.flatMap(({ other }) => other ?? []);
    const each = marksOfEach(kept[0]?.key ?? undefined, others, sessionId, texts);
    const found = yield* rows<{ mark: string }>(sql`select mark from rkat.forgotten_text
      where namespace = ${this.#namespace} and mark ${isIn(each.flat())}`);
    const known = new Set(found.map(({ mark }) => mark));
    return each.map((marks) => marks.some((mark) => known.has(mark)));
  }

  *copy(): Sql<readonly string[]> {
    const kept = yield* rows<{ mark: string }>(
      sql`select mark from rkat.forgotten_text where namespace = ${this.#namespace}`,
    );
    const marks = kept.map(({ mark }) => mark);
    // A store whose marks all came from other stores may have no key of its own.
    const own = marks.length > 0 ? yield* row<Key>(KEY) : undefined;
    return own ? forgottenCopy(keyIn(own), marks) : marks;
  }

  *restore(copy: readonly string[]): Sql<void> {
    if (copy.length === 0) return;
    const marks = { mark: ["text", copy] } as const;
    const isKnown = sql`on conflict do nothing`;
    yield* change(insertAll("rkat.forgotten_text", this.#namespace, marks, isKnown));
  }
}

/** The key of the database. It gets one at its first use. */
function* requireKey(): Sql<Uint8Array> {
  const known = yield* row<Key>(KEY);
  if (known) return keyIn(known);
  const { rows: added } = yield* changed([
    sql`insert into rkat.forgetting_key (only_one, key) values (true, ${newForgettingKey()})
      on conflict do nothing returning key`,
  ]);
  // Another process may have been faster.
  const [own = yield* row<Key>(KEY)] = added as readonly Key[];
  return keyIn(own);
}

function keyIn(found: Key | undefined): Uint8Array {
  if (found?.key instanceof Uint8Array) return found.key;
  throw new TypeError("the key that forgetting uses is missing");
}

interface Key {
  readonly key: Uint8Array;
}
const KEY = sql`select key from rkat.forgetting_key`;
