export { userStoreFile } from "./config/config-places.ts";
export type { ForgottenMarks } from "./core/forgotten-texts.ts";
export type { ImportKeys } from "./core/import-store.ts";
export type { Stores } from "./core/stores.ts";
export type { EmbeddingProgress, IndexedMemory as SqliteMemory } from "./stores/indexed-memory.ts";
export type { DatabaseOptions } from "./stores/sqlite/database.ts";
export { requireSqlite } from "./stores/sqlite/open-connection.ts";
export {
  type SqliteStores,
  type SqliteStoresOptions,
  sqliteStores,
} from "./stores/sqlite/sqlite-stores.ts";
