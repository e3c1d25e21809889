import type { KnowledgeEntry, KnowledgeKind, NewKnowledge } from "../../core/knowledge.ts";
import type {
  KnowledgeChange,
  KnowledgeCopy,
  KnowledgeLimits,
  KnowledgePage,
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
import { storedEntry, storedSignature } from "../stored-json.ts";
import type { Connection } from "./connection.ts";
import { KnowledgeTable } from "./knowledge-table.ts";

type State = Readonly<Record<"position" | "revision" | "distilled", number>>;

/** What the knowledge store asks of the database. */
export const knowledgeCommands = {
  knowledgeState(db: Connection, namespace: string): State {
    const sql = "SELECT position, revision, distilled FROM knowledge_state WHERE namespace = ?";
    return { position: 0, revision: 0, distilled: 0, ...db.get<State>(sql, namespace) };
  },

  recordKnowledge(db: Connection, namespace: string, batch: RecordedBatch): boolean {
    return db.write(() => {
      if (knowledgeCommands.knowledgeState(db, namespace).position !== batch.from) return false;
      const table = new KnowledgeTable(db, namespace);
      for (const entry of batch.entries) {
        mergeKnowledge(table, entry, batch.limits, { byHand: false });
      }
      setPosition(db, namespace, batch.to);
      return true;
    });
  },

  addKnowledge(
    db: Connection,
    namespace: string,
    entries: readonly NewKnowledge[],
    limits: KnowledgeLimits,
  ): readonly KnowledgeEntry[] {
    const table = new KnowledgeTable(db, namespace);
    return db.write(() =>
      entries.flatMap((entry) => mergeKnowledge(table, entry, limits, { byHand: true }) ?? []),
    );
  },

  listKnowledge(db: Connection, namespace: string, page: KnowledgePage): readonly KnowledgeEntry[] {
    const last =
      page.after === undefined ? undefined : new KnowledgeTable(db, namespace).byId(page.after);
    const wanted = knowledgeFilter(page);
    const found: KnowledgeEntry[] = [];
    const rows = db.iterate<{ entry: string }>(
      `SELECT entry FROM knowledge_entry
       WHERE namespace = ?1 AND key < ?2 AND (?3 IS NULL OR kind = ?3) ORDER BY key DESC`,
      namespace,
      last?.key ?? Number.MAX_SAFE_INTEGER,
      page.kind ?? null,
    );
    for (const row of rows) {
      if (found.length >= page.limit) break;
      const entry = storedEntry(row.entry);
      if (wanted(entry)) found.push(entry);
    }
    return found;
  },

  readKnowledge(
    db: Connection,
    namespace: string,
    ids: readonly string[],
  ): readonly KnowledgeEntry[] {
    const table = new KnowledgeTable(db, namespace);
    return ids.flatMap((id) => table.byId(id)?.entry ?? []);
  },

  editKnowledge(
    db: Connection,
    namespace: string,
    id: string,
    change: KnowledgeChange,
  ): KnowledgeEntry | undefined {
    const edited = db.write(() => editKnowledge(new KnowledgeTable(db, namespace), id, change));
    if (change.content !== undefined) db.emptyLog();
    return edited;
  },

  forgetKnowledge(db: Connection, namespace: string, ids: readonly string[]): number {
    const count = db.write(() => forgetKnowledge(new KnowledgeTable(db, namespace), ids));
    if (count > 0) db.emptyLog();
    return count;
  },

  deleteSessionKnowledge(db: Connection, namespace: string, sessionId: string): void {
    const table = new KnowledgeTable(db, namespace);
    db.write(() => {
      const rows = db.all<{ id: string }>(
        "SELECT id FROM knowledge_entry WHERE namespace = ? AND session_id = ? AND kind = 'fact'",
        namespace,
        sessionId,
      );
      for (const row of rows.flatMap(({ id }) => table.byId(id) ?? [])) {
        table.remove(row);
        table.gone(row.entry.id);
      }
    });
  },

  markKnowledgeUsed(db: Connection, namespace: string, ids: readonly string[], time: string): void {
    const table = new KnowledgeTable(db, namespace);
    db.writeUnsynced(() => {
      for (const row of ids.flatMap((id) => table.byId(id) ?? [])) {
        table.save({ ...row, entry: { ...row.entry, usedAt: time } });
      }
    });
  },

  knowledgeCounts(db: Connection, namespace: string): Readonly<Record<KnowledgeKind, number>> {
    const rows = db.all<{ kind: KnowledgeKind; count: number }>(
      "SELECT kind, count(*) AS count FROM knowledge_entry WHERE namespace = ? GROUP BY kind",
      namespace,
    );
    const counts = Object.fromEntries(rows.map(({ kind, count }) => [kind, count]));
    return { fact: 0, correction: 0, preference: 0, rule: 0, ...counts };
  },

  saveKnowledgeRules(
    db: Connection,
    namespace: string,
    revision: number,
    rules: readonly NewKnowledge[],
  ): boolean {
    const said = new Map(rules.map(({ id, content }) => [id, content]));
    let isSaidNoMore = false;
    const saved = db.write(() => {
      if (knowledgeCommands.knowledgeState(db, namespace).revision !== revision) return false;
      const before = knowledgeCommands
        .listKnowledge(db, namespace, { kind: "rule", limit: Number.MAX_SAFE_INTEGER })
        .filter(({ origin }) => origin === "distilled");
      isSaidNoMore = before.some(({ id, content }) => said.get(id) !== content);
      replaceRules(new KnowledgeTable(db, namespace), before, rules);
      db.run("UPDATE knowledge_state SET distilled = ? WHERE namespace = ?", revision, namespace);
      return true;
    });
    // What a rule was made of may have been forgotten.
    if (saved && isSaidNoMore) db.emptyLog();
    return saved;
  },

  unheardKnowledge(db: Connection, namespace: string, limit: number): Unheard {
    const changed = db.all<{ entry: string; version: number }>(
      `SELECT entry, version FROM knowledge_entry
       WHERE namespace = ? AND heard < version ORDER BY key LIMIT ?`,
      namespace,
      limit,
    );
    const gone = db.all<{ id: string }>(
      "SELECT id FROM knowledge_gone WHERE namespace = ? LIMIT ?",
      namespace,
      limit,
    );
    return {
      changed: changed.map(({ entry, version }) => ({ entry: storedEntry(entry), version })),
      gone: gone.map(({ id }) => id),
    };
  },

  knowledgeHeard(db: Connection, namespace: string, { changed, gone }: Unheard): void {
    db.write(() => {
      for (const { entry, version } of changed) {
        db.run(
          "UPDATE knowledge_entry SET heard = ?3 WHERE namespace = ?1 AND id = ?2 AND version = ?3",
          namespace,
          entry.id,
          version,
        );
      }
      for (const id of gone) {
        db.run("DELETE FROM knowledge_gone WHERE namespace = ? AND id = ?", namespace, id);
      }
    });
  },

  copyKnowledge(db: Connection, namespace: string): KnowledgeCopy {
    return db.read(() => {
      const { position } = knowledgeCommands.knowledgeState(db, namespace);
      const hashes = (key: number, table: "knowledge_key" | "knowledge_band") =>
        db
          .all<{ hash: string }>(`SELECT hash FROM ${table} WHERE entry = ?`, key)
          .map(({ hash }) => hash);
      const entries = db
        .all<{ key: number; signature: string | null; entry: string }>(
          "SELECT key, signature, entry FROM knowledge_entry WHERE namespace = ? ORDER BY key",
          namespace,
        )
        .map(({ key, signature, entry }) => ({
          entry: storedEntry(entry),
          keys: hashes(key, "knowledge_key"),
          ...(signature === null
            ? {}
            : {
                likeness: {
                  bands: hashes(key, "knowledge_band"),
                  signature: storedSignature(signature),
                },
              }),
        }));
      const forgotten = db.all<{ hash: string }>(
        "SELECT hash FROM knowledge_key WHERE namespace = ? AND entry IS NULL",
        namespace,
      );
      return { position, entries, forgotten: forgotten.map(({ hash }) => hash) };
    });
  },

  restoreKnowledge(db: Connection, namespace: string, copy: KnowledgeCopy): void {
    db.write(() => {
      restoreKnowledge(new KnowledgeTable(db, namespace), copy);
      setPosition(db, namespace, copy.position);
    });
    db.emptyLog();
  },
};

function setPosition(db: Connection, namespace: string, position: number): void {
  db.run(
    `INSERT INTO knowledge_state VALUES (?, ?, 0, 0)
     ON CONFLICT DO UPDATE SET position = excluded.position`,
    namespace,
    position,
  );
}
