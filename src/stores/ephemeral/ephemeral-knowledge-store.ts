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
import { checkMethods } from "../../core/store-arguments.ts";
import { KnowledgeMap } from "../knowledge/knowledge-map.ts";
import {
  editKnowledge,
  forgetKnowledge,
  knowledgeFilter,
  mergeKnowledge,
  replaceRules,
  restoreKnowledge,
} from "../knowledge/merge-knowledge.ts";

/** Keeps knowledge in this process only. */
export class EphemeralKnowledgeStore implements KnowledgeStore {
  static {
    checkMethods("knowledge", EphemeralKnowledgeStore);
  }
  readonly #rows = new KnowledgeMap();
  #position = 0;
  #distilled = 0;

  async position(): Promise<number> {
    return this.#position;
  }

  async record({ from, to, entries, limits }: RecordedBatch): Promise<boolean> {
    if (from !== this.#position) return false;
    for (const entry of entries) mergeKnowledge(this.#rows, entry, limits, { byHand: false });
    this.#position = to;
    return true;
  }

  async add(entries: readonly NewKnowledge[], limits: KnowledgeLimits) {
    return entries.flatMap(
      (entry) => mergeKnowledge(this.#rows, entry, limits, { byHand: true }) ?? [],
    );
  }

  async list(page: KnowledgePage): Promise<readonly KnowledgeEntry[]> {
    const all = this.#rows.all.toReversed();
    const start =
      page.after === undefined ? 0 : all.findIndex(({ entry }) => entry.id === page.after) + 1;
    const entries = all.slice(start).map(({ entry }) => entry);
    return entries.filter(knowledgeFilter(page)).slice(0, page.limit);
  }

  async read(ids: readonly string[]): Promise<readonly KnowledgeEntry[]> {
    return ids.flatMap((id) => this.#rows.byId(id)?.entry ?? []);
  }

  async edit(id: string, change: KnowledgeChange): Promise<KnowledgeEntry | undefined> {
    return editKnowledge(this.#rows, id, change);
  }

  async forget(ids: readonly string[]): Promise<number> {
    return forgetKnowledge(this.#rows, ids);
  }

  async deleteSession(sessionId: string): Promise<void> {
    for (const row of this.#rows.all) {
      if (row.entry.kind !== "fact" || row.entry.sessionId !== sessionId) continue;
      this.#rows.remove(row);
      this.#rows.gone(row.entry.id);
    }
  }

  async markUsed(ids: readonly string[], time: string): Promise<void> {
    for (const row of ids.flatMap((id) => this.#rows.byId(id) ?? [])) {
      this.#rows.save({ ...row, entry: { ...row.entry, usedAt: time } });
    }
  }

  async counts(): Promise<Readonly<Record<KnowledgeKind, number>>> {
    const count = (kind: KnowledgeKind) => this.#rows.count(kind);
    return {
      fact: count("fact"),
      correction: count("correction"),
      preference: count("preference"),
      rule: count("rule"),
    };
  }

  async revision() {
    return { current: this.#rows.revision, distilled: this.#distilled };
  }

  async saveRules(revision: number, rules: readonly NewKnowledge[]): Promise<boolean> {
    if (revision !== this.#rows.revision) return false;
    const before = this.#rows.all.map(({ entry }) => entry);
    replaceRules(this.#rows, before.filter(isDistilled), rules);
    this.#distilled = revision;
    return true;
  }

  async unheard(limit: number): Promise<Unheard> {
    const changed = this.#rows.all
      .filter(({ heard, version }) => heard < version)
      .slice(0, limit)
      .map(({ entry, version }) => ({ entry, version }));
    return { changed, gone: [...this.#rows.goneIds].slice(0, limit) };
  }

  async heard({ changed, gone }: Unheard): Promise<void> {
    for (const { entry, version } of changed) {
      const row = this.#rows.byId(entry.id);
      if (row?.version === version) this.#rows.save({ ...row, heard: version });
    }
    for (const id of gone) this.#rows.goneIds.delete(id);
  }

  async copy(): Promise<KnowledgeCopy> {
    const entries = this.#rows.all.map((row) => {
      const { keys = [], likeness } = this.#rows.hashesOf(row) ?? {};
      return { entry: row.entry, keys, ...(likeness ? { likeness } : {}) };
    });
    return { position: this.#position, entries, forgotten: this.#rows.forgottenHashes };
  }

  async restore(copy: KnowledgeCopy): Promise<void> {
    restoreKnowledge(this.#rows, copy);
    this.#position = copy.position;
  }

  async close(): Promise<void> {}
}

function isDistilled({ kind, origin }: KnowledgeEntry): boolean {
  return kind === "rule" && origin === "distilled";
}
