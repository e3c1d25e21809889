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
import type { Database } from "./database.ts";

/** Keeps what a project has learned in a SQLite file that several processes may have open at once. */
export class SqliteKnowledgeStore implements KnowledgeStore {
  readonly #database: Database;
  readonly #namespace: string;

  /** Closing the store closes the database. */
  constructor(database: Database, options: { readonly namespace?: string } = {}) {
    this.#database = database;
    this.#namespace = options.namespace ?? "default";
  }

  async position(): Promise<number> {
    return (await this.#database.run("knowledgeState", this.#namespace)).position;
  }

  record(batch: RecordedBatch): Promise<boolean> {
    return this.#database.run("recordKnowledge", this.#namespace, batch);
  }

  add(entries: readonly NewKnowledge[], limits: KnowledgeLimits) {
    return this.#database.run("addKnowledge", this.#namespace, entries, limits);
  }

  list(page: KnowledgePage): Promise<readonly KnowledgeEntry[]> {
    return this.#database.run("listKnowledge", this.#namespace, page);
  }

  read(ids: readonly string[]): Promise<readonly KnowledgeEntry[]> {
    return this.#database.run("readKnowledge", this.#namespace, ids);
  }

  edit(id: string, change: KnowledgeChange): Promise<KnowledgeEntry | undefined> {
    return this.#database.run("editKnowledge", this.#namespace, id, change);
  }

  forget(ids: readonly string[]): Promise<number> {
    return this.#database.run("forgetKnowledge", this.#namespace, ids);
  }

  deleteSession(sessionId: string): Promise<void> {
    return this.#database.run("deleteSessionKnowledge", this.#namespace, sessionId);
  }

  markUsed(ids: readonly string[], time: string): Promise<void> {
    return this.#database.run("markKnowledgeUsed", this.#namespace, ids, time);
  }

  counts(): Promise<Readonly<Record<KnowledgeKind, number>>> {
    return this.#database.run("knowledgeCounts", this.#namespace);
  }

  async revision() {
    const { revision, distilled } = await this.#database.run("knowledgeState", this.#namespace);
    return { current: revision, distilled };
  }

  saveRules(revision: number, rules: readonly NewKnowledge[]): Promise<boolean> {
    return this.#database.run("saveKnowledgeRules", this.#namespace, revision, rules);
  }

  unheard(limit: number): Promise<Unheard> {
    return this.#database.run("unheardKnowledge", this.#namespace, limit);
  }

  heard(unheard: Unheard): Promise<void> {
    return this.#database.run("knowledgeHeard", this.#namespace, unheard);
  }

  copy(): Promise<KnowledgeCopy> {
    return this.#database.run("copyKnowledge", this.#namespace);
  }

  restore(copy: KnowledgeCopy): Promise<void> {
    return this.#database.run("restoreKnowledge", this.#namespace, copy);
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
