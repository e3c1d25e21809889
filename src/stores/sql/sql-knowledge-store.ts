import type { KnowledgeEntry, KnowledgeKind, NewKnowledge } from "../../core/knowledge.ts";
import type {
  KnowledgeChange,
  KnowledgeCopy,
  KnowledgeLimits,
  KnowledgePage,
  KnowledgeStore,
  RecordedBatch,
  Unheard,
} from "../../core/knowledge-store.ts";
import {
  editKnowledge,
  forgetKnowledge,
  knowledgeFilter,
  mergeKnowledge,
  replaceRules,
  restoreKnowledge,
} from "../knowledge/merge-knowledge.ts";
import { CHECKED_COLUMNS, type CheckedEntry, isIntact, storedEntry } from "../stored-json.ts";
import {
  countsOf,
  LoadedKnowledge,
  lockKnowledge,
  type State,
  type StateChange,
  stateOf,
  type Wanted,
} from "./loaded-knowledge.ts";
import {
  type Asking,
  changed,
  clean,
  isIn,
  type Mode,
  row,
  rows,
  type Sql,
  sql,
  table,
  transaction,
  words,
} from "./sql.ts";

const CHECKED = words(CHECKED_COLUMNS);

/** Entries that one statement reads for a list. */
const PAGE = 500;

interface Change<Result> extends Wanted {
  readonly mode?: Mode;
  /** Nothing is changed when the state is another one. */
  readonly from?: Partial<State>;
  readonly to?: StateChange;
  readonly change: (rows: LoadedKnowledge) => Result;
}

/** Keeps what a project has learned. */
export class SqlKnowledgeStore implements Asking<KnowledgeStore> {
  readonly #namespace: string;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  *position(): Sql<number> {
    return (yield* stateOf(this.#namespace)).position;
  }

  *record({ from, to, entries, limits }: RecordedBatch): Sql<boolean> {
    const merged = yield* this.#change({
      ...wantedFor(entries, limits),
      from: { position: from },
      to: { position: to },
      change: (rows) =>
        entries.flatMap((entry) => mergeKnowledge(rows, entry, limits, { byHand: false }) ?? []),
    });
    return merged !== undefined;
  }

  *add(entries: readonly NewKnowledge[], limits: KnowledgeLimits): Sql<readonly KnowledgeEntry[]> {
    const added = yield* this.#change({
      ...wantedFor(entries, limits),
      change: (rows) =>
        entries.flatMap((entry) => mergeKnowledge(rows, entry, limits, { byHand: true }) ?? []),
    });
    return added ?? [];
  }

  *list(page: KnowledgePage): Sql<readonly KnowledgeEntry[]> {
    const { kind, after, limit, ...others } = page;
    const isWanted = knowledgeFilter(page);
    // Other conditions than the kind leave out rows that were read.
    const size = Object.keys(others).length > 0 ? PAGE : Math.min(limit, PAGE);
    const ofKind = kind === undefined ? sql`` : sql`and kind = ${kind}`;
    const found: KnowledgeEntry[] = [];
    for (let before = yield* this.#keyOf(after); found.length < limit; ) {
      const read = yield* rows<{ key: number } & CheckedEntry>(sql`select key, ${CHECKED}
        from rkat.knowledge_entry where key in (
          select key from rkat.knowledge_entry
          where namespace = ${this.#namespace} and key < ${before} ${ofKind}
          order by key desc limit ${size})
        order by key desc`);
      for (const row of read) {
        before = row.key;
        if (!isIntact(row)) continue;
        const one = storedEntry(row.entry);
        if (isWanted(one)) found.push(one);
        if (found.length === limit) break;
      }
      if (read.length < size) break;
    }
    return found;
  }

  /** The key of the entry behind which a page begins. */
  *#keyOf(id: string | undefined): Sql<number> {
    const found =
      id === undefined
        ? undefined
        : yield* row<{ key: number }>(sql`select key from rkat.knowledge_entry
            where namespace = ${this.#namespace} and id = ${id}`);
    return found?.key ?? Number.MAX_SAFE_INTEGER;
  }

  *read(ids: readonly string[]): Sql<readonly KnowledgeEntry[]> {
    const found = yield* rows<CheckedEntry>(sql`select ${CHECKED}
      from rkat.knowledge_entry where namespace = ${this.#namespace} and id ${isIn(ids)}`);
    const intact = found.filter(isIntact);
    const entries = new Map(intact.map(({ id, entry }) => [id, storedEntry(entry)]));
    return ids.flatMap((id) => entries.get(id) ?? []);
  }

  *edit(id: string, change: KnowledgeChange): Sql<KnowledgeEntry | undefined> {
    const edited = yield* this.#change({
      ids: [id],
      change: (rows) => editKnowledge(rows, id, change),
    });
    if (change.content !== undefined) yield* this.#clean();
    return edited;
  }

  *forget(ids: readonly string[]): Sql<number> {
    const count = yield* this.#change({ ids, change: (rows) => forgetKnowledge(rows, ids) });
    if (count) yield* this.#clean();
    return count ?? 0;
  }

  *deleteSession(sessionId: string): Sql<void> {
    yield* this.#change({
      factsOf: sessionId,
      change(rows) {
        for (const row of rows.all) {
          rows.remove(row);
          rows.gone(row.entry.id);
        }
      },
    });
  }

  *markUsed(ids: readonly string[], time: string): Sql<void> {
    yield* this.#change({
      ids,
      mode: "write unsynced",
      change(rows) {
        for (const row of rows.all) rows.save({ ...row, entry: { ...row.entry, usedAt: time } });
      },
    });
  }

  *counts(): Sql<Readonly<Record<KnowledgeKind, number>>> {
    const counts = Object.fromEntries(yield* countsOf(this.#namespace));
    return { fact: 0, correction: 0, preference: 0, rule: 0, ...counts };
  }

  *revision(): Sql<{ readonly current: number; readonly distilled: number }> {
    const { revision, distilled } = yield* stateOf(this.#namespace);
    return { current: revision, distilled };
  }

  *saveRules(revision: number, rules: readonly NewKnowledge[]): Sql<boolean> {
    const said = new Map(rules.map(({ id, content }) => [id, content]));
    const saved = yield* this.#change({
      kind: "rule",
      ids: rules.map(({ id }) => id),
      hashes: rules.flatMap(({ keys }) => keys),
      from: { revision },
      to: { distilled: revision },
      change(rows) {
        const all = rows.all.map(({ entry }) => entry);
        const before = all.filter(({ kind, origin }) => kind === "rule" && origin === "distilled");
        replaceRules(rows, before, rules);
        return { isLessSaid: before.some(({ id, content }) => said.get(id) !== content) };
      },
    });
    // The entries that a rule was made of may have been forgotten.
    if (saved?.isLessSaid) yield* this.#clean();
    return saved !== undefined;
  }

  *unheard(limit: number): Sql<Unheard> {
    const found = yield* rows<CheckedEntry & { version: number }>(sql`select ${CHECKED}, version
      from rkat.knowledge_entry where namespace = ${this.#namespace} and heard < version
      order by key limit ${limit}`);
    const gone = yield* rows<{ id: string }>(sql`select id from rkat.knowledge_gone
      where namespace = ${this.#namespace} limit ${limit}`);
    return {
      changed: found
        .filter(isIntact)
        .map(({ entry, version }) => ({ entry: storedEntry(entry), version })),
      gone: gone.map(({ id }) => id),
    };
  }

  *heard({ changed: told, gone }: Unheard): Sql<void> {
    const versions = {
      id: ["text", told.map(({ entry }) => entry.id)],
      version: ["integer", told.map(({ version }) => version)],
    } as const;
    const namespace = this.#namespace;
    yield* transaction("write", function* () {
      yield* lockKnowledge(namespace);
      yield* changed([
        sql`update rkat.knowledge_entry as entry set heard = told.version
          from ${table("told", versions)}
          where entry.namespace = ${namespace} and entry.id = told.id
            and entry.version = told.version`,
        sql`delete from rkat.knowledge_gone where namespace = ${namespace} and id ${isIn(gone)}`,
      ]);
    });
  }

  *copy(): Sql<KnowledgeCopy> {
    const namespace = this.#namespace;
    return yield* transaction("read", function* () {
      const { position } = yield* stateOf(namespace);
      const known = yield* LoadedKnowledge.load(namespace, { all: true });
      const entries = known.all.map((row) => ({
        entry: row.entry,
        keys: [],
        ...known.hashesOf(row),
      }));
      return { position, entries, forgotten: known.forgottenHashes };
    });
  }

  *restore(copy: KnowledgeCopy): Sql<void> {
    const { entries, forgotten, position } = copy;
    yield* this.#change({
      ids: entries.map(({ entry }) => entry.id),
      hashes: [...entries.flatMap(({ keys }) => keys), ...forgotten],
      to: { position },
      change: (rows) => restoreKnowledge(rows, copy),
    });
    yield* this.#clean();
  }

  /** Changes what is wanted, while no other process changes anything. */
  #change<Result>({
    mode = "write",
    from = {},
    to,
    change,
    ...wanted
  }: Change<Result>): Sql<Result | undefined> {
    const namespace = this.#namespace;
    return transaction(mode, function* () {
      const { position, revision } = yield* lockKnowledge(namespace);
      const isFrom =
        position === (from.position ?? position) && revision === (from.revision ?? revision);
      if (!isFrom) return undefined;
      const known = yield* LoadedKnowledge.load(namespace, wanted);
      const result = change(known);
      yield* known.saveTo(to);
      return result;
    });
  }

  #clean(): Sql<void> {
    return clean("rkat.knowledge_entry");
  }
}

/** The entries that new ones may change. */
function wantedFor(entries: readonly NewKnowledge[], limits: KnowledgeLimits): Wanted {
  if (entries.length === 0) return {};
  const coming = new Map<KnowledgeKind, number>();
  for (const { kind } of entries) coming.set(kind, (coming.get(kind) ?? 0) + 1);
  return {
    ids: entries.map(({ id }) => id),
    hashes: entries.flatMap(({ keys }) => keys),
    bands: entries.flatMap(({ likeness }) => likeness?.bands ?? []),
    room: { coming, limits },
  };
}
