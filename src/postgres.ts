export type { ForgottenMarks } from "./core/forgotten-texts.ts";
export type { ImportKeys } from "./core/import-store.ts";
export type { Stores } from "./core/stores.ts";
export type {
  EmbeddingProgress,
  IndexedMemory as PostgresMemory,
} from "./stores/indexed-memory.ts";
export type { PostgresDatabaseOptions } from "./stores/postgres/postgres-database.ts";
export type {
  PostgresClient,
  PostgresPool,
  PostgresResult,
  PostgresStatement,
} from "./stores/postgres/postgres-pool.ts";
export {
  type PostgresStores,
  type PostgresStoresOptions,
  postgresStores,
} from "./stores/postgres/postgres-stores.ts";
