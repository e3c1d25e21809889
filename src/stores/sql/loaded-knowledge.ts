import type { KnowledgeKind } from "../../core/knowledge.ts";
import type { KnowledgeLimits } from "../../core/knowledge-store.ts";
import { KnowledgeMap } from "../knowledge/knowledge-map.ts";
import { FOREIGN_ORIGINS, type Hashes, type KnowledgeRow } from "../knowledge/merge-knowledge.ts";
import {
  CHECKED_COLUMNS,
  type CheckedEntry,
  checksumOf,
  isIntact,
  storedEntry,
  storedSignature,
} from "../stored-json.ts";
import {
  type Columns,
  changed,
  insertAll,
  isIn,
  joined,
  row,
  rows,
  type Sql,
  type Statement,
  sql,
  table,
  words,
} from "./sql.ts";

/** The part of a namespace's knowledge that a change may need. */
export interface Wanted {
  readonly ids?: readonly string[];
  readonly hashes?: readonly string[];
  readonly bands?: readonly string[];
  /** How many entries of each kind come, and how many there may be: the oldest are evicted. */
  readonly room?: Room;
  /** All facts of a session. */
  readonly factsOf?: string;
  readonly kind?: KnowledgeKind;
  /** Everything, with what was forgotten. */
  readonly all?: true;
}

interface Room {
  readonly coming: ReadonlyMap<KnowledgeKind, number>;
  readonly limits: KnowledgeLimits;
}

type Counts = ReadonlyMap<KnowledgeKind, number>;

/** Rows that change with the entries. */
export interface StateChange {
  readonly position?: number;
  readonly distilled?: number;
}

/** Rows of each band that are compared with a text that may be nearly the same. */
const CANDIDATES_MAX = 20;
/** Keys of rows that have no key yet. */
const FIRST_NEW = 2 ** 52;

/**
 * A part of what a namespace has learned: read at once, changed here, saved at once. A row at a time
 * would take a round trip each. No other process changes the namespace meanwhile: `lockKnowledge`.
 */
export class LoadedKnowledge extends KnowledgeMap {
  readonly #namespace: string;
  /** The loaded entries. */
  readonly #rows = new Map<number, KnowledgeRow>();
  readonly #rowHashes = new Map<number, Hashes | undefined>();
  readonly #hashes = new Map<string, number | "forgotten">();
  /** The number of entries of a kind that were not loaded. */
  readonly #others = new Map<KnowledgeKind, number>();

  /** Keys of rows that others take the place of. */
  readonly #damaged: number[] = [];

  private constructor(namespace: string) {
    super();
    this.#namespace = namespace;
  }

  static *load(namespace: string, wanted: Wanted): Sql<LoadedKnowledge> {
    const loaded = new LoadedKnowledge(namespace);
    const counts: Counts = wanted.room ? yield* countsOf(namespace) : new Map();
    const [keys] = keysOf(namespace, wanted, counts);
    const condition = wanted.all ? sql`namespace = ${namespace}` : keys && sql`key in (${keys})`;
    const found = condition
      ? yield* rows<SqlRow>(sql`select key, version, heard, ${words(CHECKED_COLUMNS)}
          from rkat.knowledge_entry where ${condition} order by key`)
      : [];
    const hashes = yield* hashesOf(namespace, found, wanted);
    const intact = found.filter(isIntact);
    loaded.#leaveOut(found, new Set(wanted.ids));
    loaded.#fill(
      intact.map(rowOf),
      Map.groupBy(hashes, ({ entry }) => entry),
    );
    for (const [kind, count] of counts) loaded.#others.set(kind, count - loaded.count(kind));
    return loaded;
  }

  /** Rows that have changed since they were stored stay as they are, unless their place is needed. */
  #leaveOut(found: readonly SqlRow[], wanted: ReadonlySet<string>): void {
    const damaged = found.filter((one) => !isIntact(one));
    this.#damaged.push(...damaged.filter(({ id }) => wanted.has(id)).map(({ key }) => key));
  }

  #fill(
    found: readonly KnowledgeRow[],
    hashes: ReadonlyMap<number | null, readonly HashRow[]>,
  ): void {
    for (const row of found) {
      const own = hashes.get(row.key) ?? [];
      const bands = own.filter(({ band }) => band).map(({ hash }) => hash);
      const keys = own.filter(({ band }) => !band).map(({ hash }) => hash);
      const { signature } = row;
      const all = { keys, ...(signature ? { likeness: { signature, bands } } : {}) };
      this.save(row, all);
      this.#rows.set(row.key, row);
      this.#rowHashes.set(row.key, all);
    }
    for (const { hash } of hashes.get(null) ?? []) this.forgetHash(hash);
    for (const [hash, key] of this.hashes) this.#hashes.set(hash, key);
    this.lastKey = FIRST_NEW;
  }

  /** Counts all rows, not only the loaded ones. */
  override count(kind: KnowledgeKind): number {
    return (this.#others.get(kind) ?? 0) + super.count(kind);
  }

  /** Writes what has changed, in steps of statements that do not depend on each other. */
  *saveTo(state: StateChange = {}): Sql<void> {
    const fresh = this.all.filter(({ key }) => key > FIRST_NEW);
    const rehashed = this.all.filter((row) => this.#rowHashes.get(row.key) !== this.hashesOf(row));
    yield* changed(this.#deletions(rehashed));
    const { rows: added } = yield* changed([
      ...this.#updates(),
      ...some(fresh, (all) =>
        this.#insertAll("rkat.knowledge_entry", columnsOf(all), ADDED_IN_ORDER),
      ),
    ]);
    const keys = new Map((added as readonly Added[]).map(({ id, key }) => [id, key]));
    yield* changed([
      ...this.#hashed(rehashed, (row) => keys.get(row.entry.id) ?? row.key),
      ...some(
        fresh,
        (all) => sql`delete from rkat.knowledge_gone
        where namespace = ${this.#namespace} and id ${isIn(all.map(({ entry }) => entry.id))}`,
      ),
      ...some(this.goneIds, (id) => this.#insertAll("rkat.knowledge_gone", { id: ["text", id] })),
      ...this.#stateChange(state),
    ]);
  }

  #deletions(rehashed: readonly KnowledgeRow[]): readonly Statement[] {
    const gone = [...this.#rows.keys()].filter((key) => !this.byKey(key));
    const removed = [...gone, ...this.#damaged];
    const hashes = [...this.#hashes.keys()].filter((hash) => !this.hashes.has(hash));
    const old = rehashed.map(({ key }) => key).filter((key) => key < FIRST_NEW);
    return [
      ...some(
        hashes,
        (all) => sql`delete from rkat.knowledge_key
        where namespace = ${this.#namespace} and hash ${isIn(all)}`,
      ),
      ...some(
        [...removed, ...old],
        (all) => sql`delete from rkat.knowledge_band
        where entry ${isIn(all, "bigint")}`,
      ),
      ...some(
        this.#damaged,
        (all) => sql`delete from rkat.knowledge_key
        where entry ${isIn(all, "bigint")}`,
      ),
      ...some(
        removed,
        (all) => sql`delete from rkat.knowledge_entry
        where key ${isIn(all, "bigint")}`,
      ),
    ];
  }

  #updates(): readonly Statement[] {
    const old = this.all.filter((row) => row.key < FIRST_NEW && this.#rows.get(row.key) !== row);
    const key = ["bigint", old.map(({ key }) => key)] as const;
    return some(
      old,
      () => sql`update rkat.knowledge_entry as old set ${SET}
      from ${table("changed", { key, ...columnsOf(old) })} where old.key = changed.key`,
    );
  }

  /** Hashes and bands that are new, or belong to another row than before. */
  #hashed(
    rehashed: readonly KnowledgeRow[],
    keyOf: (row: KnowledgeRow) => number,
  ): readonly Statement[] {
    const hashes = [...this.hashes]
      .filter(([hash, key]) => this.#hashes.get(hash) !== key)
      .map(([hash]) => [hash, this.byHash(hash)] as const)
      .map(([hash, row]) => [hash, typeof row === "object" ? keyOf(row) : null] as const);
    const bands = rehashed.flatMap((row) =>
      (this.hashesOf(row)?.likeness?.bands ?? []).map((band) => [band, keyOf(row)] as const),
    );
    return [
      ...some(hashes, (all) => this.#insertAll("rkat.knowledge_key", hashColumns(all), REPLACED)),
      ...some(bands, (all) => this.#insertAll("rkat.knowledge_band", hashColumns(all))),
    ];
  }

  #insertAll(into: string, columns: Columns, end = sql`on conflict do nothing`): Statement {
    return insertAll(into, this.#namespace, columns, end);
  }

  #stateChange({ position, distilled }: StateChange): readonly Statement[] {
    const set = [
      ...(this.revision === 0
        ? []
        : [sql`revision = ${words(numberOf("revision"))} + ${this.revision}`]),
      ...(position === undefined ? [] : [sql`position = ${position}`]),
      ...(distilled === undefined ? [] : [sql`distilled = ${distilled}`]),
    ];
    return some(
      set,
      () => sql`update rkat.knowledge_state set ${joined(set, ", ")}
      where namespace = ${this.#namespace}`,
    );
  }
}

const ADDED_IN_ORDER = sql`order by place returning id, key`;
const REPLACED = sql`on conflict (namespace, hash) do update set entry = excluded.entry`;

interface Added {
  readonly id: string;
  readonly key: number;
}

/** The statement for a list that is not empty. */
function some<Item>(
  list: Iterable<Item>,
  statement: (items: readonly Item[]) => Statement,
): readonly Statement[] {
  const items = [...list];
  return items.length === 0 ? [] : [statement(items)];
}

export type State = Readonly<Record<"position" | "revision" | "distilled", number>>;

/** A value that cannot be a number of rkat's was changed, and counts as 0: then the log is read again, or rules are made again. */
const STATE = words(
  ["position", "revision", "distilled"].map((name) => `${numberOf(name)} as ${name}`).join(", "),
);

function numberOf(name: string): string {
  const column = `knowledge_state.${name}`;
  return `case when ${column} between 0 and ${Number.MAX_SAFE_INTEGER} then ${column} else 0 end`;
}

const NOTHING: State = { position: 0, revision: 0, distilled: 0 };

export function* stateOf(namespace: string): Sql<State> {
  const found = yield* row<State>(sql`select ${STATE}
    from rkat.knowledge_state where namespace = ${namespace}`);
  return found ?? NOTHING;
}

/** Waits until no other process changes the knowledge of a namespace, and returns its state. */
export function* lockKnowledge(namespace: string): Sql<State> {
  const { rows: found } = yield* changed([
    sql`insert into rkat.knowledge_state (namespace, position, revision, distilled)
      values (${namespace}, 0, 0, 0)
      on conflict (namespace) do update set namespace = excluded.namespace
      returning ${STATE}`,
  ]);
  return (found[0] ?? NOTHING) as State;
}

export function* countsOf(namespace: string): Sql<Counts> {
  const found = yield* rows<{
    kind: KnowledgeKind;
    count: number;
  }>(sql`select kind, count(*) as count
    from rkat.knowledge_entry where namespace = ${namespace} group by kind`);
  return new Map(found.map(({ kind, count }) => [kind, count]));
}

/** The keys of the wanted rows, if any is wanted. */
function keysOf(
  namespace: string,
  { ids = [], hashes = [], bands = [], room, factsOf, kind }: Wanted,
  counts: Counts,
): readonly Statement[] {
  const entries = sql`select key from rkat.knowledge_entry where namespace = ${namespace}`;
  const parts = [
    ...some(ids, (all) => sql`${entries} and id ${isIn(all)}`),
    ...some(
      hashes,
      (all) => sql`select entry from rkat.knowledge_key
      where namespace = ${namespace} and hash ${isIn(all)}`,
    ),
    ...some(
      bands,
      (all) => sql`select band.entry
      from ${table("asked", { hash: ["text", all] })} cross join rkat.knowledge_band as band
      where band.namespace = ${namespace} and band.hash = asked.hash and band.entry <= coalesce((
        select entry from rkat.knowledge_band as other
        where other.namespace = ${namespace} and other.hash = asked.hash
        order by entry limit 1 offset ${words(String(CANDIDATES_MAX - 1))}), ${Number.MAX_SAFE_INTEGER})`,
    ),
    ...(room ? oldest(namespace, room, counts) : []),
    ...(factsOf === undefined
      ? []
      : [sql`${entries} and session_id = ${factsOf} and kind = 'fact'`]),
    ...(kind === undefined ? [] : [sql`${entries} and kind = ${kind}`]),
  ];
  return some(parts, (all) => joined(all, " union "));
}

/** No text in the JSON of an entry has these quotes without a backslash. */
const IS_FOREIGN = `and (${FOREIGN_ORIGINS.map((origin) => `entry like '%"origin":"${origin}"%'`).join(" or ")})
  and entry not like '%"edited":true%'`;

/** The oldest of each kind, as many as have to go when others come. */
function oldest(namespace: string, { coming, limits }: Room, counts: Counts): readonly Statement[] {
  const uses = limits.eviction === "spare_used" ? ["", "and used = false"] : [""];
  const modes = uses.flatMap((use) => [use, `${use} ${IS_FOREIGN}`]);
  return [...coming].flatMap(([kind, added]) => {
    const excess = (counts.get(kind) ?? 0) + added - limits.max[kind];
    if (excess <= 0) return [];
    return modes.map(
      (mode) => sql`select key from (
        select key from rkat.knowledge_entry
        where namespace = ${namespace} and kind = ${kind} and pinned = false ${words(mode)}
        order by key limit ${excess}) as oldest`,
    );
  });
}

interface HashRow {
  readonly entry: number | null;
  readonly hash: string;
  readonly band: number;
}

/** The hashes of rows, and those of the wanted ones that were forgotten. */
function* hashesOf(
  namespace: string,
  found: readonly SqlRow[],
  { all, hashes = [] }: Wanted,
): Sql<readonly HashRow[]> {
  const keys = found.map(({ key }) => key);
  const isOwn = all ? sql`namespace = ${namespace}` : sql`entry ${isIn(keys, "bigint")}`;
  const parts = [
    ...some(
      keys,
      () => sql`select entry, hash, 0 as band from rkat.knowledge_key where ${isOwn} and entry is not null
      union all select entry, hash, 1 from rkat.knowledge_band where ${isOwn}`,
    ),
    ...(all || hashes.length > 0
      ? [
          sql`select entry, hash, 0 from rkat.knowledge_key
          where namespace = ${namespace} and entry is null ${all ? sql`` : sql`and hash ${isIn(hashes)}`}`,
        ]
      : []),
  ];
  return parts.length > 0 ? yield* rows<HashRow>(joined(parts, " union all ")) : [];
}

interface SqlRow extends CheckedEntry {
  readonly key: number;
  readonly version: number;
  readonly heard: number;
}

function rowOf({ key, version, heard, likeness: signature, entry }: SqlRow): KnowledgeRow {
  return {
    key,
    version,
    heard,
    entry: storedEntry(entry),
    ...(signature === null ? {} : { signature: storedSignature(signature) }),
  };
}

function columnsOf(all: readonly KnowledgeRow[]): Columns {
  const texts = all.map(({ entry }) => JSON.stringify(entry));
  return {
    id: ["text", all.map(({ entry }) => entry.id)],
    kind: ["text", all.map(({ entry }) => entry.kind)],
    session_id: ["text", all.map(({ entry }) => entry.sessionId ?? null)],
    pinned: ["boolean", all.map(({ entry }) => entry.pinned)],
    used: ["boolean", all.map(({ entry }) => entry.usedAt !== undefined)],
    version: ["integer", all.map(({ version }) => version)],
    heard: ["integer", all.map(({ heard }) => heard)],
    likeness: ["text", all.map(({ signature }) => (signature ? JSON.stringify(signature) : null))],
    entry: ["text", texts],
    checksum: ["bigint", texts.map(checksumOf)],
  };
}

const SET = words(
  Object.keys(columnsOf([]))
    .map((name) => `${name} = changed.${name}`)
    .join(", "),
);

function hashColumns(all: readonly (readonly [hash: string, entry: number | null])[]): Columns {
  return {
    hash: ["text", all.map(([hash]) => hash)],
    entry: ["bigint", all.map(([, entry]) => entry)],
  };
}
