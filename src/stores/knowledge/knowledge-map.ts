import type { KnowledgeEntry, KnowledgeKind } from "../../core/knowledge.ts";
import {
  type Hashes,
  isForeign,
  type KnowledgeRow,
  type KnowledgeRows,
} from "./merge-knowledge.ts";

/** Rows in the memory of this process, in the order in which they were put first. */
export class KnowledgeMap implements KnowledgeRows {
  revision = 0;
  readonly goneIds = new Set<string>();
  /** The row that each hash belongs to. */
  readonly hashes = new Map<string, number | "forgotten">();
  /** The number of the last inserted row. */
  protected lastKey = 0;
  readonly #rows = new Map<number, KnowledgeRow>();
  readonly #ids = new Map<string, number>();
  readonly #bands = new Map<string, Set<number>>();
  readonly #hashesOf = new Map<number, Hashes>();

  get all(): readonly KnowledgeRow[] {
    return [...this.#rows.values()];
  }

  byKey(key: number): KnowledgeRow | undefined {
    return this.#rows.get(key);
  }

  byId(id: string): KnowledgeRow | undefined {
    return this.#rows.get(this.#ids.get(id) ?? -1);
  }

  byHash(hash: string): KnowledgeRow | "forgotten" | undefined {
    const found = this.hashes.get(hash);
    return found === "forgotten" ? found : this.#rows.get(found ?? -1);
  }

  byBands(bands: readonly string[]): readonly KnowledgeRow[] {
    const keys = new Set(bands.flatMap((band) => [...(this.#bands.get(band) ?? [])]));
    return [...keys].flatMap((key) => this.#rows.get(key) ?? []);
  }

  insert(entry: KnowledgeEntry, hashes: Hashes): void {
    this.lastKey += 1;
    const signature = hashes.likeness ? { signature: hashes.likeness.signature } : {};
    const row = { key: this.lastKey, entry, version: 1, heard: 0, ...signature };
    this.goneIds.delete(entry.id);
    this.save(row, hashes);
  }

  save(row: KnowledgeRow, hashes?: Hashes): void {
    this.#rows.set(row.key, row);
    this.#ids.set(row.entry.id, row.key);
    if (!hashes) return;
    this.#unhash(row.key, false);
    this.#hashesOf.set(row.key, hashes);
    for (const key of hashes.keys) this.hashes.set(key, row.key);
    for (const band of hashes.likeness?.bands ?? []) {
      this.#bands.set(band, (this.#bands.get(band) ?? new Set()).add(row.key));
    }
  }

  forgetHash(hash: string): void {
    this.hashes.set(hash, "forgotten");
  }

  get forgottenHashes(): readonly string[] {
    return [...this.hashes].flatMap(([hash, row]) => (row === "forgotten" ? hash : []));
  }

  hashesOf({ key }: KnowledgeRow): Hashes | undefined {
    return this.#hashesOf.get(key);
  }

  remove({ key, entry }: KnowledgeRow, { forget = false } = {}): void {
    this.#unhash(key, forget);
    this.#rows.delete(key);
    this.#ids.delete(entry.id);
  }

  allow(hashes: readonly string[]): void {
    for (const hash of hashes) {
      if (this.hashes.get(hash) === "forgotten") this.hashes.delete(hash);
    }
  }

  count(kind: KnowledgeKind): number {
    return this.all.filter(({ entry }) => entry.kind === kind).length;
  }

  oldest(
    kind: KnowledgeKind,
    { unused, foreign }: { readonly unused: boolean; readonly foreign: boolean },
  ): KnowledgeRow | undefined {
    return this.all.find(
      ({ entry }) =>
        entry.kind === kind &&
        !entry.pinned &&
        (!unused || entry.usedAt === undefined) &&
        (!foreign || isForeign(entry)),
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
      if (this.hashes.get(hash) !== key) continue;
      if (forget) this.hashes.set(hash, "forgotten");
      else this.hashes.delete(hash);
    }
    for (const band of likeness?.bands ?? []) this.#bands.get(band)?.delete(key);
    this.#hashesOf.delete(key);
  }
}
