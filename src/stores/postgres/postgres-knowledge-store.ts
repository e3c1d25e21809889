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
import { storedEntry, storedHashes, storedSignature } from "../stored-json.ts";
import { COUNTS, LoadedKnowledge, lockKnowledge, type Wanted } from "./loaded-knowledge.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import type { Statements } from "./statements.ts";

/** Entries that one statement reads for a list. */
const PAGE = 500;

/** Keeps what a project has learned in PostgreSQL. */
export class PostgresKnowledgeStore implements KnowledgeStore {
  readonly #database: PostgresDatabase;
  readonly #namespace: string;

  /** Closing the store closes the database. */
  constructor(database: PostgresDatabase, options: { readonly namespace?: string } = {}) {
    this.#database = database;
    this.#namespace = options.namespace ?? "default";
  }

  async position(): Promise<number> {
    return (await this.#state()).position;
  }

  async record({ from, to, entries, limits }: RecordedBatch): Promise<boolean> {
    return await this.#database.write(async (statements) => {
      if ((await lockKnowledge(statements, this.#namespace)).position !== from) return false;
      await this.#merge(statements, entries, limits, { byHand: false });
      const sql = "update rkat.knowledge_state set position = $2 where namespace = $1";
      await statements.change(sql, this.#namespace, to);
      return true;
    });
  }

  async add(entries: readonly NewKnowledge[], limits: KnowledgeLimits) {
    return await this.#database.write(async (statements) => {
      await lockKnowledge(statements, this.#namespace);
      return await this.#merge(statements, entries, limits, { byHand: true });
    });
  }

  async list(page: KnowledgePage): Promise<readonly KnowledgeEntry[]> {
    const wanted = knowledgeFilter(page);
    const found: KnowledgeEntry[] = [];
    for (let before = await this.#keyOf(page.after); found.length < page.limit; ) {
      const rows = await this.#database.rows<{ key: number; entry: string }>(
        `select key, entry from rkat.knowledge_entry
         where namespace = $1 and key < $2 and ($3::text is null or kind = $3)
         order by key desc limit $4`,
        this.#namespace,
        before,
        page.kind ?? null,
        PAGE,
      );
      const entries = rows.map(({ entry }) => storedEntry(entry));
      found.push(...entries.filter(wanted));
      const last = rows.at(-1);
      if (!last || rows.length < PAGE) break;
      before = last.key;
    }
    return found.slice(0, page.limit);
  }

  /** The key of the entry behind which a page begins. */
  async #keyOf(id: string | undefined): Promise<number> {
    const row =
      id === undefined
        ? undefined
        : await this.#database.row<{ key: number }>(
            "select key from rkat.knowledge_entry where namespace = $1 and id = $2",
            this.#namespace,
            id,
          );
    return row?.key ?? Number.MAX_SAFE_INTEGER;
  }

  async read(ids: readonly string[]): Promise<readonly KnowledgeEntry[]> {
    const rows = await this.#database.rows<{ id: string; entry: string }>(
      "select id, entry from rkat.knowledge_entry where namespace = $1 and id = any($2::text[])",
      this.#namespace,
      ids,
    );
    const entries = new Map(rows.map(({ id, entry }) => [id, storedEntry(entry)]));
    return ids.flatMap((id) => entries.get(id) ?? []);
  }

  async edit(id: string, change: KnowledgeChange): Promise<KnowledgeEntry | undefined> {
    const edited = await this.#change({ ids: [id] }, (rows) => editKnowledge(rows, id, change));
    if (change.content !== undefined) await this.#vacuum();
    return edited;
  }

  async forget(ids: readonly string[]): Promise<number> {
    const count = await this.#change({ ids }, (rows) => forgetKnowledge(rows, ids));
    if (count > 0) await this.#vacuum();
    return count;
  }

  async deleteSession(sessionId: string): Promise<void> {
    await this.#change({ factsOf: sessionId }, (rows) => {
      for (const row of rows.all) {
        rows.remove(row);
        rows.gone(row.entry.id);
      }
    });
  }

  async markUsed(ids: readonly string[], time: string): Promise<void> {
    await this.#change({ ids }, (rows) => {
      for (const row of rows.all) {
        rows.save({ ...row, entry: { ...row.entry, usedAt: time } });
      }
    });
  }

  async counts(): Promise<Readonly<Record<KnowledgeKind, number>>> {
    const rows = await this.#database.rows<{ kind: KnowledgeKind; count: number }>(
      COUNTS,
      this.#namespace,
    );
    const counts = Object.fromEntries(rows.map(({ kind, count }) => [kind, count]));
    return { fact: 0, correction: 0, preference: 0, rule: 0, ...counts };
  }

  async revision() {
    const { revision, distilled } = await this.#state();
    return { current: revision, distilled };
  }

  async saveRules(revision: number, rules: readonly NewKnowledge[]): Promise<boolean> {
    const said = new Map(rules.map(({ id, content }) => [id, content]));
    const saved = await this.#database.write(async (statements) => {
      if ((await lockKnowledge(statements, this.#namespace)).revision !== revision)
        return undefined;
      const found = await statements.rows<{ entry: string }>(
        "select entry from rkat.knowledge_entry where namespace = $1 and kind = 'rule' order by key desc",
        this.#namespace,
      );
      const before = found
        .map(({ entry }) => storedEntry(entry))
        .filter(({ origin }) => origin === "distilled");
      const loaded = await LoadedKnowledge.load(statements, this.#namespace, {
        ids: [...before, ...rules].map(({ id }) => id),
        hashes: rules.flatMap(({ keys }) => keys),
      });
      replaceRules(loaded, before, rules);
      await loaded.saveTo(statements, this.#namespace);
      const sql = "update rkat.knowledge_state set distilled = $2 where namespace = $1";
      await statements.change(sql, this.#namespace, revision);
      return before.some(({ id, content }) => said.get(id) !== content) ? "less said" : "same said";
    });
    // What a rule was made of may have been forgotten.
    if (saved === "less said") await this.#vacuum();
    return saved !== undefined;
  }

  async unheard(limit: number): Promise<Unheard> {
    const changed = await this.#database.rows<{ entry: string; version: number }>(
      `select entry, version from rkat.knowledge_entry
       where namespace = $1 and heard < version order by key limit $2`,
      this.#namespace,
      limit,
    );
    const gone = await this.#database.rows<{ id: string }>(
      "select id from rkat.knowledge_gone where namespace = $1 limit $2",
      this.#namespace,
      limit,
    );
    return {
      changed: changed.map(({ entry, version }) => ({ entry: storedEntry(entry), version })),
      gone: gone.map(({ id }) => id),
    };
  }

  async heard({ changed, gone }: Unheard): Promise<void> {
    await this.#database.write(async (statements) => {
      await lockKnowledge(statements, this.#namespace);
      await statements.change(
        `update rkat.knowledge_entry as entry set heard = told.version
         from unnest($2::text[], $3::integer[]) as told (id, version)
         where entry.namespace = $1 and entry.id = told.id and entry.version = told.version`,
        this.#namespace,
        changed.map(({ entry }) => entry.id),
        changed.map(({ version }) => version),
      );
      await statements.change(
        "delete from rkat.knowledge_gone where namespace = $1 and id = any($2::text[])",
        this.#namespace,
        gone,
      );
    });
  }

  async copy(): Promise<KnowledgeCopy> {
    return await this.#database.read(async (statements) => {
      const state = await statements.row<{ position: number }>(
        "select position from rkat.knowledge_state where namespace = $1",
        this.#namespace,
      );
      const rows = await statements.rows<{
        readonly entry: string;
        readonly signature: string | null;
        readonly keys: string;
        readonly bands: string;
      }>(COPY, this.#namespace);
      const forgotten = await statements.rows<{ hash: string }>(
        "select hash from rkat.knowledge_key where namespace = $1 and entry is null",
        this.#namespace,
      );
      return {
        position: state?.position ?? 0,
        entries: rows.map(({ entry, signature, keys, bands }) => ({
          entry: storedEntry(entry),
          keys: storedHashes(keys),
          ...(signature === null
            ? {}
            : { likeness: { bands: storedHashes(bands), signature: storedSignature(signature) } }),
        })),
        forgotten: forgotten.map(({ hash }) => hash),
      };
    });
  }

  async restore(copy: KnowledgeCopy): Promise<void> {
    const { entries, forgotten, position } = copy;
    await this.#database.write(async (statements) => {
      await lockKnowledge(statements, this.#namespace);
      const rows = await LoadedKnowledge.load(statements, this.#namespace, {
        ids: entries.map(({ entry }) => entry.id),
        hashes: [...entries.flatMap(({ keys }) => keys), ...forgotten],
      });
      restoreKnowledge(rows, copy);
      await rows.saveTo(statements, this.#namespace);
      const sql = "update rkat.knowledge_state set position = $2 where namespace = $1";
      await statements.change(sql, this.#namespace, position);
    });
    await this.#vacuum();
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  async #state() {
    const row = await this.#database.row<Record<"position" | "revision" | "distilled", number>>(
      "select position, revision, distilled from rkat.knowledge_state where namespace = $1",
      this.#namespace,
    );
    return row ?? { position: 0, revision: 0, distilled: 0 };
  }

  /** Changes what is wanted, while no other process changes anything. */
  async #change<Result>(
    wanted: Wanted,
    change: (rows: LoadedKnowledge) => Result,
  ): Promise<Result> {
    return await this.#database.write(async (statements) => {
      await lockKnowledge(statements, this.#namespace);
      const rows = await LoadedKnowledge.load(statements, this.#namespace, wanted);
      const result = change(rows);
      await rows.saveTo(statements, this.#namespace);
      return result;
    });
  }

  async #merge(
    statements: Statements,
    entries: readonly NewKnowledge[],
    limits: KnowledgeLimits,
    options: { readonly byHand: boolean },
  ): Promise<readonly KnowledgeEntry[]> {
    const kinds = Map.groupBy(entries, ({ kind }) => kind);
    const rows = await LoadedKnowledge.load(statements, this.#namespace, {
      ids: entries.map(({ id }) => id),
      hashes: entries.flatMap(({ keys }) => keys),
      bands: entries.flatMap(({ likeness }) => likeness?.bands ?? []),
      room: [...kinds].map(([kind, all]) => ({
        kind,
        coming: all.length,
        max: limits.max[kind],
      })),
    });
    const merged = entries.flatMap((entry) => mergeKnowledge(rows, entry, limits, options) ?? []);
    await rows.saveTo(statements, this.#namespace);
    return merged;
  }

  async #vacuum(): Promise<void> {
    await this.#database.vacuum("rkat.knowledge_entry");
  }
}

const COPY = `
  select entry, signature,
    (select coalesce(json_agg(hash), '[]') from rkat.knowledge_key as own where own.entry = known.key)::text as keys,
    (select coalesce(json_agg(hash), '[]') from rkat.knowledge_band as own where own.entry = known.key)::text as bands
  from rkat.knowledge_entry as known where namespace = $1 order by key`;
