import type { KnowledgeEntry, KnowledgeKind } from "../../core/knowledge.ts";
import { KnowledgeMap } from "../knowledge/knowledge-map.ts";
import type { Hashes, KnowledgeRow } from "../knowledge/knowledge-rows.ts";
import { storedEntry, storedSignature } from "../stored-json.ts";
import type { Statements } from "./statements.ts";

/** What of a namespace's knowledge a change may need. */
export interface Wanted {
  readonly ids?: readonly string[];
  readonly hashes?: readonly string[];
  readonly bands?: readonly string[];
  /** For each kind, how many entries come and how many there may be: the oldest are evicted. */
  readonly room?: readonly {
    readonly kind: KnowledgeKind;
    readonly coming: number;
    readonly max: number;
  }[];
  /** All facts of a session. */
  readonly factsOf?: string;
}

/** Rows of each band that are compared with a text that may be nearly the same. */
const CANDIDATES_MAX = 20;
/** Keys of rows that have no key yet. */
const FIRST_NEW = 2 ** 52;

interface SqlRow {
  readonly key: number;
  readonly version: number;
  readonly heard: number;
  readonly signature: string | null;
  readonly entry: string;
}

const ROW = "key, version, heard, signature, entry";

/**
 * A part of what a namespace has learned: read at once, changed here, saved at once. A row at a time
 * would take a round trip each. Nobody else changes the namespace meanwhile: `lockKnowledge`.
 */
export class LoadedKnowledge extends KnowledgeMap {
  readonly #counts = new Map<KnowledgeKind, number>();
  readonly #changed = new Map<number, KnowledgeRow>();
  readonly #hashed = new Map<number, Hashes>();
  readonly #removed = new Set<number>();
  readonly #forgotten = new Set<number>();
  readonly #forgottenHashes = new Set<string>();
  readonly #allowed = new Set<string>();
  readonly #back = new Set<string>();

  static async load(
    statements: Statements,
    namespace: string,
    wanted: Wanted,
  ): Promise<LoadedKnowledge> {
    const loaded = new LoadedKnowledge();
    const { room = [] } = wanted;
    const rows = await statements.rows<SqlRow>(
      LOAD,
      namespace,
      wanted.ids ?? [],
      wanted.hashes ?? [],
      wanted.bands ?? [],
      room.map(({ kind }) => kind),
      room.map(({ coming, max }) => coming - max),
      wanted.factsOf ?? null,
    );
    const keys = rows.map(({ key }) => key);
    const hashes = await statements.rows<{ entry: number | null; hash: string; band: boolean }>(
      LOAD_HASHES,
      namespace,
      keys,
      wanted.hashes ?? [],
    );
    const counts = await statements.rows<{ kind: KnowledgeKind; count: number }>(COUNTS, namespace);
    loaded.#fill(rows.map(rowOf), hashes);
    for (const { kind, count } of counts) loaded.#counts.set(kind, count);
    return loaded;
  }

  #fill(
    rows: readonly KnowledgeRow[],
    hashes: readonly { entry: number | null; hash: string; band: boolean }[],
  ): void {
    const of = Map.groupBy(hashes, ({ entry }) => entry);
    for (const row of rows) {
      const own = of.get(row.key) ?? [];
      const bands = own.filter(({ band }) => band).map(({ hash }) => hash);
      const keys = own.filter(({ band }) => !band).map(({ hash }) => hash);
      this.put(row, { keys, likeness: { signature: row.signature ?? [], bands } });
    }
    for (const { hash } of of.get(null) ?? []) this.putForgotten(hash);
    this.lastKey = FIRST_NEW;
  }

  override insert(entry: KnowledgeEntry, hashes: Hashes): void {
    super.insert(entry, hashes);
    this.#back.add(entry.id);
    this.#counts.set(entry.kind, this.count(entry.kind) + 1);
  }

  override save(row: KnowledgeRow, hashes?: Hashes): void {
    super.save(row, hashes);
    this.#changed.set(row.key, row);
    if (hashes) this.#hashed.set(row.key, hashes);
  }

  override remove(row: KnowledgeRow, options: { readonly forget?: boolean } = {}): void {
    super.remove(row, options);
    this.#counts.set(row.entry.kind, this.count(row.entry.kind) - 1);
    this.#changed.delete(row.key);
    this.#hashed.delete(row.key);
    this.#removed.add(row.key);
    if (options.forget) this.#forgotten.add(row.key);
  }

  override forgetHash(hash: string): void {
    super.forgetHash(hash);
    this.#forgottenHashes.add(hash);
  }

  override allow(hashes: readonly string[]): void {
    super.allow(hashes);
    for (const hash of hashes) this.#allowed.add(hash);
  }

  override count(kind: KnowledgeKind): number {
    return this.#counts.get(kind) ?? 0;
  }

  override gone(id: string): void {
    super.gone(id);
    this.#back.delete(id);
  }

  /** Writes what has changed. */
  async saveTo(statements: Statements, namespace: string): Promise<void> {
    const run = async (sql: string, list: Iterable<unknown>, ...more: readonly unknown[]) => {
      const all = [...list];
      if (all.length > 0) await statements.change(sql, namespace, all, ...more);
    };
    await run(FORGET, this.#forgotten);
    await run(ALLOW, this.#allowed);
    await run(REMOVE, this.#removed);
    await run(FORGET_HASHES, this.#forgottenHashes);
    const changed = [...this.#changed.values()];
    const old = changed.filter(({ key }) => key < FIRST_NEW);
    await run(
      UPDATE,
      old.map(({ key }) => key),
      ...columnsOf(old),
    );
    const fresh = changed.filter(({ key }) => key > FIRST_NEW);
    const keys = await this.#insert(statements, namespace, fresh);
    await run(
      UNHASH,
      [...this.#hashed.keys()].filter((key) => key < FIRST_NEW),
    );
    // Of rows with the same hash, the last one has it.
    const hashes = new Map<string, number>();
    const bands: [string, number][] = [];
    for (const [key, { keys: own, likeness }] of this.#hashed) {
      const entry = keys.get(key) ?? key;
      for (const hash of own) hashes.set(hash, entry);
      for (const band of likeness?.bands ?? []) bands.push([band, entry]);
    }
    await run(HASH, hashes.keys(), [...hashes.values()]);
    await run(
      BAND,
      bands.map(([band]) => band),
      bands.map(([, entry]) => entry),
    );
    await run(BACK, this.#back);
    await run(GONE, this.goneIds);
    if (this.revision > 0) await statements.change(REVISE, namespace, this.revision);
  }

  /** Returns the keys that the rows got, by those that they had here. */
  async #insert(
    statements: Statements,
    namespace: string,
    rows: readonly KnowledgeRow[],
  ): Promise<ReadonlyMap<number, number>> {
    if (rows.length === 0) return new Map();
    const ids = rows.map(({ entry }) => entry.id);
    const added = await statements.rows<{ id: string; key: number }>(
      INSERT,
      namespace,
      ids,
      ...columnsOf(rows),
    );
    const keys = new Map(added.map(({ id, key }) => [id, key]));
    return new Map(rows.map(({ key, entry }) => [key, keys.get(entry.id) as number]));
  }
}

/** Waits until no other process changes the knowledge of a namespace, and returns its state. */
export async function lockKnowledge(
  statements: Statements,
  namespace: string,
): Promise<{ readonly position: number; readonly revision: number }> {
  const row = await statements.row<{ position: number; revision: number }>(
    `insert into rkat.knowledge_state (namespace) values ($1)
     on conflict (namespace) do update set namespace = excluded.namespace
     returning position, revision`,
    namespace,
  );
  return row ?? { position: 0, revision: 0 };
}

function rowOf({ key, version, heard, signature, entry }: SqlRow): KnowledgeRow {
  return {
    key,
    version,
    heard,
    entry: storedEntry(entry),
    ...(signature === null ? {} : { signature: storedSignature(signature) }),
  };
}

/** The parameters from `$3` on of the statements that write rows. */
function columnsOf(rows: readonly KnowledgeRow[]) {
  return [
    rows.map(({ entry }) => entry.kind),
    rows.map(({ entry }) => entry.sessionId ?? null),
    rows.map(({ entry }) => entry.pinned),
    rows.map(({ entry }) => entry.usedAt !== undefined),
    rows.map(({ version }) => version),
    rows.map(({ heard }) => heard),
    rows.map(({ signature }) => (signature ? JSON.stringify(signature) : null)),
    rows.map(({ entry }) => JSON.stringify(entry)),
  ] as const;
}

const COLUMNS = "kind, session_id, pinned, used, version, heard, signature, entry";
const ARRAYS =
  "$3::text[], $4::text[], $5::boolean[], $6::boolean[], $7::integer[], $8::integer[], $9::text[], $10::text[]";

const LOAD = `
  select ${ROW} from rkat.knowledge_entry where key in (
    select key from rkat.knowledge_entry where namespace = $1 and id = any($2::text[])
    union select entry from rkat.knowledge_key where namespace = $1 and hash = any($3::text[])
    union select alike.entry from unnest($4::text[]) band, lateral (
      select entry from rkat.knowledge_band where namespace = $1 and hash = band limit ${CANDIDATES_MAX}
    ) as alike
    union select oldest.key from unnest($5::text[], $6::bigint[]) as room (kind, excess),
      (values (true), (false)) as mode (unused), lateral (
        select key from rkat.knowledge_entry as entry
        where namespace = $1 and entry.kind = room.kind and not pinned and (not unused or not used)
        order by key limit greatest(0, excess + (
          select count(*) from rkat.knowledge_entry where namespace = $1 and kind = room.kind))
      ) as oldest
    union select key from rkat.knowledge_entry
      where namespace = $1 and session_id = $7 and kind = 'fact'
  ) order by key`;

const LOAD_HASHES = `
  select entry, hash, false as band from rkat.knowledge_key where entry = any($2::bigint[])
  union all select entry, hash, true from rkat.knowledge_band where entry = any($2::bigint[])
  union all select null, hash, false from rkat.knowledge_key
    where namespace = $1 and hash = any($3::text[]) and entry is null`;

export const COUNTS =
  "select kind, count(*) as count from rkat.knowledge_entry where namespace = $1 group by kind";

const FORGET =
  "update rkat.knowledge_key set entry = null where namespace = $1 and entry = any($2::bigint[])";
const FORGET_HASHES = `
  insert into rkat.knowledge_key select $1, hash, null from unnest($2::text[]) hash
  on conflict do nothing`;
const ALLOW = `delete from rkat.knowledge_key
  where namespace = $1 and entry is null and hash = any($2::text[])`;
const REMOVE = `
  with keys as (delete from rkat.knowledge_key where namespace = $1 and entry = any($2::bigint[])),
    bands as (delete from rkat.knowledge_band where namespace = $1 and entry = any($2::bigint[]))
  delete from rkat.knowledge_entry where namespace = $1 and key = any($2::bigint[])`;
const UPDATE = `
  update rkat.knowledge_entry as old set (${COLUMNS}) =
    (changed.kind, changed.session_id, changed.pinned, changed.used, changed.version,
      changed.heard, changed.signature, changed.entry)
  from unnest($2::bigint[], ${ARRAYS}) as changed (key, ${COLUMNS})
  where old.namespace = $1 and old.key = changed.key`;
const INSERT = `
  insert into rkat.knowledge_entry (namespace, id, ${COLUMNS})
  select $1, id, ${COLUMNS} from unnest($2::text[], ${ARRAYS})
    with ordinality as added (id, ${COLUMNS}, place) order by place
  returning id, key`;
const UNHASH = `
  with keys as (delete from rkat.knowledge_key where namespace = $1 and entry = any($2::bigint[]))
  delete from rkat.knowledge_band where namespace = $1 and entry = any($2::bigint[])`;
const HASH = `
  insert into rkat.knowledge_key select $1, hash, entry
  from unnest($2::text[], $3::bigint[]) as added (hash, entry)
  on conflict (namespace, hash) do update set entry = excluded.entry`;
const BAND = `
  insert into rkat.knowledge_band select $1, hash, entry
  from unnest($2::text[], $3::bigint[]) as added (hash, entry) on conflict do nothing`;
const BACK = "delete from rkat.knowledge_gone where namespace = $1 and id = any($2::text[])";
const GONE =
  "insert into rkat.knowledge_gone select $1, id from unnest($2::text[]) id on conflict do nothing";
const REVISE = "update rkat.knowledge_state set revision = revision + $2 where namespace = $1";
