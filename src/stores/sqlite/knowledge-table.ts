import type { KnowledgeEntry, KnowledgeKind } from "../../core/knowledge.ts";
import type { Hashes, KnowledgeRow, KnowledgeRows } from "../knowledge/knowledge-rows.ts";
import { storedEntry, storedSignature } from "../stored-json.ts";
import type { Connection } from "./connection.ts";

/** Rows that are compared with a text that may be nearly the same. */
const CANDIDATES_MAX = 20;

interface SqlRow {
  readonly key: number;
  readonly version: number;
  readonly heard: number;
  readonly signature: string | null;
  readonly entry: string;
}

const SELECT = "SELECT key, version, heard, signature, entry FROM knowledge_entry";

/** What a namespace has learned, as rows of SQLite. */
export class KnowledgeTable implements KnowledgeRows {
  readonly #db: Connection;
  readonly #namespace: string;

  constructor(db: Connection, namespace: string) {
    this.#db = db;
    this.#namespace = namespace;
  }

  byId(id: string): KnowledgeRow | undefined {
    return this.#row(`${SELECT} WHERE namespace = ? AND id = ?`, this.#namespace, id);
  }

  byHash(hash: string): KnowledgeRow | "forgotten" | undefined {
    const found = this.#db.get<{ entry: number | null }>(
      "SELECT entry FROM knowledge_key WHERE namespace = ? AND hash = ?",
      this.#namespace,
      hash,
    );
    if (!found) return undefined;
    return found.entry === null ? "forgotten" : this.#row(`${SELECT} WHERE key = ?`, found.entry);
  }

  byBands(bands: readonly string[]): readonly KnowledgeRow[] {
    return this.#db
      .all<SqlRow>(
        `${SELECT} WHERE key IN (
           SELECT DISTINCT entry FROM knowledge_band
           WHERE namespace = ?1 AND hash IN (SELECT value FROM json_each(?2)) LIMIT ?3)`,
        this.#namespace,
        JSON.stringify(bands),
        CANDIDATES_MAX,
      )
      .map(rowOf);
  }

  insert(entry: KnowledgeEntry, hashes: Hashes): void {
    const key = this.#db.insert(
      "INSERT INTO knowledge_entry (namespace, id, kind, session_id, pinned, used, version, heard, signature, entry) VALUES (?, ?, ?, ?, ?, ?, 1, 0, ?, ?)",
      this.#namespace,
      entry.id,
      ...columnsOf(entry),
      signatureOf(hashes.likeness?.signature),
      JSON.stringify(entry),
    );
    this.#db.run(
      "DELETE FROM knowledge_gone WHERE namespace = ? AND id = ?",
      this.#namespace,
      entry.id,
    );
    this.#hash(key, hashes);
  }

  save({ key, entry, version, heard, signature }: KnowledgeRow, hashes?: Hashes): void {
    this.#db.run(
      `UPDATE knowledge_entry SET kind = ?, session_id = ?, pinned = ?, used = ?, version = ?,
         heard = ?, signature = ?, entry = ? WHERE key = ?`,
      ...columnsOf(entry),
      version,
      heard,
      signatureOf(signature),
      JSON.stringify(entry),
      key,
    );
    if (!hashes) return;
    this.#unhash(key);
    this.#hash(key, hashes);
  }

  remove({ key }: KnowledgeRow, { forget = false } = {}): void {
    if (forget) this.#db.run("UPDATE knowledge_key SET entry = NULL WHERE entry = ?", key);
    this.#unhash(key);
    this.#db.run("DELETE FROM knowledge_entry WHERE key = ?", key);
  }

  forgetHash(hash: string): void {
    this.#db.run("INSERT OR IGNORE INTO knowledge_key VALUES (?, ?, NULL)", this.#namespace, hash);
  }

  allow(hashes: readonly string[]): void {
    this.#db.run(
      `DELETE FROM knowledge_key WHERE namespace = ? AND entry IS NULL
         AND hash IN (SELECT value FROM json_each(?))`,
      this.#namespace,
      JSON.stringify(hashes),
    );
  }

  count(kind: KnowledgeKind): number {
    const sql = "SELECT count(*) AS count FROM knowledge_entry WHERE namespace = ? AND kind = ?";
    return this.#db.get<{ count: number }>(sql, this.#namespace, kind)?.count ?? 0;
  }

  oldest(kind: KnowledgeKind, { unused }: { readonly unused: boolean }): KnowledgeRow | undefined {
    const used = unused ? "AND used = 0" : "";
    return this.#row(
      `${SELECT} WHERE namespace = ? AND kind = ? AND pinned = 0 ${used} ORDER BY key LIMIT 1`,
      this.#namespace,
      kind,
    );
  }

  gone(id: string): void {
    this.#db.run("INSERT OR IGNORE INTO knowledge_gone VALUES (?, ?)", this.#namespace, id);
  }

  revise(): void {
    this.#db.run(
      `INSERT INTO knowledge_state VALUES (?, 0, 1, 0)
       ON CONFLICT DO UPDATE SET revision = revision + 1`,
      this.#namespace,
    );
  }

  #row(sql: string, ...values: (string | number)[]): KnowledgeRow | undefined {
    const row = this.#db.get<SqlRow>(sql, ...values);
    return row && rowOf(row);
  }

  #hash(key: number, { keys, likeness }: Hashes): void {
    for (const hash of keys) {
      this.#db.run(
        "INSERT OR REPLACE INTO knowledge_key VALUES (?, ?, ?)",
        this.#namespace,
        hash,
        key,
      );
    }
    for (const band of likeness?.bands ?? []) {
      this.#db.run(
        "INSERT OR IGNORE INTO knowledge_band VALUES (?, ?, ?)",
        this.#namespace,
        band,
        key,
      );
    }
  }

  #unhash(key: number): void {
    this.#db.run("DELETE FROM knowledge_key WHERE entry = ?", key);
    this.#db.run("DELETE FROM knowledge_band WHERE entry = ?", key);
  }
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

function columnsOf({ kind, sessionId, pinned, usedAt }: KnowledgeEntry) {
  return [kind, sessionId ?? null, pinned ? 1 : 0, usedAt === undefined ? 0 : 1] as const;
}

function signatureOf(signature: readonly number[] | undefined): string | null {
  return signature ? JSON.stringify(signature) : null;
}
