import type {
  ImportBatch,
  ImportedFile,
  ImportKeys,
  ImportStore,
} from "../../core/import-store.ts";
import { storedFile } from "../stored-json.ts";
import type { Database } from "./database.ts";
import { eventRow } from "./event-commands.ts";

/** Keeps what was imported in the file of the log, so that both are right after a kill. */
export class SqliteImportStore implements ImportStore, ImportKeys {
  readonly #database: Database;
  readonly #namespace: string;

  /** It does not close the database. */
  constructor(database: Database, options: { readonly namespace?: string } = {}) {
    this.#database = database;
    this.#namespace = options.namespace ?? "default";
  }

  async known(ids: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(await this.#database.run("knownMessages", this.#namespace, ids));
  }

  commit(
    batches: readonly ImportBatch[],
    files: ReadonlyMap<string, ImportedFile> = new Map(),
  ): Promise<number> {
    const rows = batches.map((batch) => ({ ...batch, events: batch.events.map(eventRow) }));
    const states = [...files].map(([path, file]) => [path, JSON.stringify(file)] as const);
    return this.#database.run("commitImport", this.#namespace, rows, states);
  }

  async files(): Promise<ReadonlyMap<string, ImportedFile>> {
    const rows = await this.#database.run("importedFiles", this.#namespace);
    return new Map(rows.map(({ path, state }) => [path, storedFile(state)]));
  }

  keys(after: string, limit: number): Promise<readonly string[]> {
    return this.#database.run("importedKeys", this.#namespace, after, limit);
  }

  restore(keys: readonly string[]): Promise<void> {
    return this.#database.run("restoreImported", this.#namespace, keys);
  }
}
