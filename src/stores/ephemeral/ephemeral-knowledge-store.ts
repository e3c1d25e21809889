import type { KnowledgeEntry, KnowledgeKind, NewKnowledge } from "../../core/knowledge.ts";
import type {
  KnowledgeChange,
  KnowledgeLimits,
  KnowledgePage,
  KnowledgeStore,
  RecordedBatch,
  Unheard,
} from "../../core/knowledge-store.ts";
import type { Hashes, KnowledgeRow, KnowledgeRows } from "../knowledge/knowledge-rows.ts";
import {
  editKnowledge,
  forgetKnowledge,
  knowledgeFilter,
  mergeKnowledge,
  replaceRules,
} from "../knowledge/merge-knowledge.ts";

/** Keeps knowledge in this process only. */
export class EphemeralKnowledgeStore implements KnowledgeStore {
  readonly #rows = new Rows();
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

  async close(): Promise<void> {}
}

function isDistilled({ kind, origin }: KnowledgeEntry): boolean {
  return kind === "rule" && origin === "distilled";
}

class Rows implements KnowledgeRows {
  revision = 0;
  readonly goneIds = new Set<string>();
  readonly #rows = new Map<number, KnowledgeRow>();
  readonly #ids = new Map<string, number>();
  readonly #hashes = new Map<string, number | "forgotten">();
  readonly #bands = new Map<string, Set<number>>();
  readonly #hashesOf = new Map<number, Hashes>();
  #lastKey = 0;

  get all(): readonly KnowledgeRow[] {
    return [...this.#rows.values()];
  }

  byId(id: string): KnowledgeRow | undefined {
    return this.#rows.get(this.#ids.get(id) ?? -1);
  }

  byHash(hash: string): KnowledgeRow | "forgotten" | undefined {
    const found = this.#hashes.get(hash);
    return found === "forgotten" ? found : this.#rows.get(found ?? -1);
  }

  byBands(bands: readonly string[]): readonly KnowledgeRow[] {
    const keys = new Set(bands.flatMap((band) => [...(this.#bands.get(band) ?? [])]));
    return [...keys].flatMap((key) => this.#rows.get(key) ?? []);
  }

  insert(entry: KnowledgeEntry, hashes: Hashes): void {
    this.#lastKey += 1;
    const signature = hashes.likeness ? { signature: hashes.likeness.signature } : {};
    const row = { key: this.#lastKey, entry, version: 1, heard: 0, ...signature };
    this.#ids.set(entry.id, row.key);
    this.goneIds.delete(entry.id);
    this.save(row, hashes);
  }

  save(row: KnowledgeRow, hashes?: Hashes): void {
    this.#rows.set(row.key, row);
    if (!hashes) return;
    this.#unhash(row.key, false);
    this.#hashesOf.set(row.key, hashes);
    for (const key of hashes.keys) this.#hashes.set(key, row.key);
    for (const band of hashes.likeness?.bands ?? []) {
      this.#bands.set(band, (this.#bands.get(band) ?? new Set()).add(row.key));
    }
  }

  remove({ key, entry }: KnowledgeRow, { forget = false } = {}): void {
    this.#unhash(key, forget);
    this.#rows.delete(key);
    this.#ids.delete(entry.id);
  }

  allow(hashes: readonly string[]): void {
    for (const hash of hashes) {
      if (this.#hashes.get(hash) === "forgotten") this.#hashes.delete(hash);
    }
  }

  count(kind: KnowledgeKind): number {
    return this.all.filter(({ entry }) => entry.kind === kind).length;
  }

  oldest(kind: KnowledgeKind, { unused }: { readonly unused: boolean }): KnowledgeRow | undefined {
    return this.all.find(
      ({ entry }) =>
        entry.kind === kind && !entry.pinned && (!unused || entry.usedAt === undefined),
    );
  }

  gone(id: string): void {
    this.goneIds.add(id);
  }

  revise(): void {
    this.revision += 1;
  }

  #unhash(key: number, forget: boolean): void {
    const { keys = [], likeness } = this.#hashesOf.get(key) ?? {};
    for (const hash of keys) {
      if (this.#hashes.get(hash) !== key) continue;
      if (forget) this.#hashes.set(hash, "forgotten");
      else this.#hashes.delete(hash);
    }
    for (const band of likeness?.bands ?? []) this.#bands.get(band)?.delete(key);
    this.#hashesOf.delete(key);
  }
}
