import { hasCapability, hasStore, lookAtStore, type Workspace } from "../config/workspace.ts";
import { errorText, SessionError } from "../core/errors.ts";
import { MEMORY_STORES } from "./memory-stores.ts";
import { actingFor, openEmbedderOf, openStores } from "./open-stores.ts";

// The checks of `rkat doctor`.

/** A check and its outcome. Only `wrong` makes `rkat doctor` fail. */
export interface Finding {
  readonly name: string;
  readonly state: "good" | "note" | "wrong";
  readonly detail: string;
}

/** The version of SQLite, and its known problems. */
export async function examineSqlite(): Promise<{
  readonly version: string;
  readonly problem?: string;
}> {
  return (await import("../stores/sqlite/examine-sqlite.ts")).examineSqlite();
}

/** The problems of a store's file; empty when it is sound. */
export async function examineStore(file: string): Promise<readonly string[]> {
  const { examineStore: problemsOf } = await import("../stores/sqlite/examine-sqlite.ts");
  try {
    lookAtStore(file);
  } catch (error) {
    return [errorText(error)];
  }
  return problemsOf(file);
}

/** The findings about a database at this address. */
export async function examineServer(
  { config }: Workspace,
  address: string,
): Promise<readonly Finding[]> {
  const { examinePostgres } = await import("../stores/postgres/examine-postgres.ts");
  const { postgresAddress } = await import("../stores/postgres/server-address.ts");
  const { MEMORY_INDEX } = await import("../projections/memory-behind.ts");
  try {
    const projection = MEMORY_INDEX[config.get("memory.index")];
    return await examinePostgres(postgresAddress(address), projection);
  } catch (error) {
    const { message, hint } = SessionError.from(error);
    return [{ name: "store", state: "wrong", detail: `${message} ${hint}` }];
  }
}

/** What memory lacks of the log, or has beyond it; empty when they are alike. */
export async function examineMemoryOfLog(workspace: Workspace): Promise<readonly string[]> {
  const { config } = workspace;
  const isCompared =
    hasCapability(config, "memory-store") && hasCapability(config, "session-store");
  if (!isCompared || !hasStore(workspace)) return [];
  const { MemoryAudit } = await import("../session/memory-audit.ts");
  const stores = await openStores(workspace, "existing");
  try {
    const own = actingFor(workspace, stores);
    return (await new MemoryAudit(own, config.get("memory.index")).check()).problems;
  } catch (error) {
    return [SessionError.from(error).message];
  } finally {
    await stores.close();
  }
}

/** The providers of models, and what each lacks to be used. */
export async function examineProviders({ config }: Workspace) {
  const { providerStates } = await import("../models/providers.ts");
  return providerStates(config.providers, process.env);
}

/** Whether the memory store of the settings has everything that it needs; undefined when memory is off. */
export async function examineMemory({
  config,
}: Workspace): Promise<{ readonly store: string } | { readonly problem: string } | undefined> {
  if (!hasCapability(config, "memory-store")) return undefined;
  const store = config.get("memory.store");
  try {
    await MEMORY_STORES[store].requirePackages();
    return { store };
  } catch (error) {
    const { message, hint } = SessionError.from(error);
    return { problem: `${message} ${hint}` };
  }
}

/** Tries the embedder of the settings; undefined when they name none. */
export async function examineEmbedder({
  config,
}: Workspace): Promise<{ readonly id: string } | { readonly problem: string } | undefined> {
  try {
    const embedder = await openEmbedderOf(config, { maxRetries: 0 });
    // A wrong key, address or model shows only when the embedder is used.
    await embedder?.embed(["Hello."], { signal: AbortSignal.timeout(EMBEDDER_TIMEOUT_MS) });
    return embedder && { id: embedder.id };
  } catch (error) {
    const { message, hint } = SessionError.from(error);
    return { problem: `${message} ${hint}` };
  }
}

/** The time that `rkat doctor` waits for an embedder. */
const EMBEDDER_TIMEOUT_MS = 10_000;
