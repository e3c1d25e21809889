import { SessionError } from "../../core/errors.ts";
import {
  type ImportBatch,
  type ImportedFile,
  type ImportKeys,
  type ImportStore,
  importKey,
} from "../../core/import-store.ts";
import { WorkQueue } from "../../core/work-queue.ts";
import { storedFile } from "../stored-json.ts";
import { appendAll, appendRows, refuseAppend } from "./append-events.ts";
import { furtherPositions } from "./event-positions.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import { saveSnapshot } from "./postgres-session-store.ts";

/** Keeps what was imported beside the log, so that both are right after a kill. */
export class PostgresImportStore implements ImportStore, ImportKeys {
  readonly #database: PostgresDatabase;
  readonly #namespace: string;
  /** Each commit has a connection of its own. */
  readonly #commits = new WorkQueue();

  /** It does not close the database. */
  constructor(database: PostgresDatabase, options: { readonly namespace?: string } = {}) {
    this.#database = database;
    this.#namespace = options.namespace ?? "default";
  }

  async known(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#database.rows<{ place: number }>(
      `select place from unnest($2::bytea[]) with ordinality as asked (id, place)
       where exists (
         select from rkat.imported_message as known where namespace = $1 and known.id = asked.id)`,
      this.#namespace,
      keysOf(ids),
    );
    return new Set(rows.flatMap(({ place }) => ids[place - 1] ?? []));
  }

  commit(
    batches: readonly ImportBatch[],
    files: ReadonlyMap<string, ImportedFile> = new Map(),
  ): Promise<undefined> {
    return this.#commits.run(() => this.#commit(batches, files));
  }

  async #commit(
    batches: readonly ImportBatch[],
    files: ReadonlyMap<string, ImportedFile>,
  ): Promise<undefined> {
    const namespace = this.#namespace;
    // Processes that lock rows in the same order do not wait for each other in a circle.
    const sorted = batches.toSorted((one, other) => (one.sessionId < other.sessionId ? -1 : 1));
    const appends = sorted.map(({ sessionId, lastSeq, events }) => {
      return { namespace, sessionId, lastSeq, events, held: undefined };
    });
    const ids = sorted.flatMap((batch) => batch.ids);
    const count = sorted.reduce((sum, { events }) => sum + events.length, 0);
    await this.#database.write(async (statements) => {
      const further = await furtherPositions(statements, count);
      const done = await appendAll(statements, appends.map(appendRows), further);
      const refused = appends.find((_, at) => !done[at]);
      if (refused) await refuseAppend(statements, refused);
      const added = await statements.change(
        `insert into rkat.imported_message select $1, id from unnest($2::bytea[]) id
         on conflict do nothing`,
        namespace,
        keysOf(ids),
      );
      if (added < ids.length) {
        throw new SessionError("SESSION_CONFLICT", { detail: "A message was imported meanwhile." });
      }
      for (const { snapshot } of sorted) await saveSnapshot(statements, namespace, snapshot);
      if (files.size > 0) {
        await statements.change(
          `insert into rkat.imported_file select $1, path, state from unnest($2::text[], $3::text[])
             as saved (path, state)
           on conflict (namespace, path) do update set state = excluded.state`,
          namespace,
          [...files.keys()],
          [...files.values()].map((file) => JSON.stringify(file)),
        );
      }
    });
  }

  async files(): Promise<ReadonlyMap<string, ImportedFile>> {
    const rows = await this.#database.rows<{ path: string; state: string }>(
      "select path, state from rkat.imported_file where namespace = $1",
      this.#namespace,
    );
    return new Map(rows.map(({ path, state }) => [path, storedFile(state)]));
  }

  async keys(after: string, limit: number): Promise<readonly string[]> {
    const rows = await this.#database.rows<{ key: string }>(
      `select encode(id, 'hex') as key from rkat.imported_message
       where namespace = $1 and id > $2 order by id limit $3`,
      this.#namespace,
      Buffer.from(after, "hex"),
      limit,
    );
    return rows.map(({ key }) => key);
  }

  async restore(keys: readonly string[]): Promise<void> {
    await this.#database.change(
      `insert into rkat.imported_message select $1, decode(key, 'hex') from unnest($2::text[]) key
       on conflict do nothing`,
      this.#namespace,
      keys,
    );
  }
}

function keysOf(ids: readonly string[]): readonly Uint8Array[] {
  return ids.map((id) => Buffer.from(importKey(id), "hex"));
}
