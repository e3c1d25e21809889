import { knowledgeSettings } from "../config/config.ts";
import type { SearchScope } from "../config/settings.ts";
import { hasCapability, type Workspace } from "../config/workspace.ts";
import type { OpenMemory } from "../core/operations/memory.ts";
import type { Stores } from "../core/stores.ts";
import { type MemoryOptions, openMemoryOperations } from "../session/memory-operations.ts";
import { memoryWithLibrary } from "../session/with-library.ts";
import { actingFor, openStores } from "./open-stores.ts";
import { type Opened, openScope, type StoreAccess } from "./opened.ts";

/** Opens the memory of a project without loading the agent. */
export async function openMemory(
  workspace: Workspace,
  access: StoreAccess,
): Promise<Opened<OpenMemory>> {
  const stores = await openStores(workspace, access);
  const operations = openMemoryOperations(memoryOptions(workspace, actingFor(workspace, stores)));
  return { value: operations, close: () => stores.close() };
}

/** Like `openMemory`, for searches within a scope. */
export function openMemoryOf(
  scope: SearchScope,
  workspace: Workspace,
): Promise<Opened<OpenMemory>> {
  return openScope(scope, workspace, (one) => openMemory(one, "existing"), memoryWithLibrary);
}

/** The options of a service that its memory depends on, with the capabilities that are on. */
export function memoryOptions(
  { config, storePlace: { folder } }: Workspace,
  stores: Stores,
): MemoryOptions {
  const hasMemory = hasCapability(config, "memory-store");
  return {
    ...(hasCapability(config, "session-store") ? { stores } : {}),
    project: folder,
    memory: hasMemory && stores.memory,
    knowledge: hasMemory &&
      config.get("knowledge.enabled") && { store: stores.knowledge, ...knowledgeSettings(config) },
    ...(hasMemory
      ? {
          memoryScope: config.get("memory.index"),
          searchableMemory: config.get("search.enabled"),
          memoryResults: config.get("search.max_results"),
          recallTokens: config.get("memory.recall_tokens"),
        }
      : {}),
  };
}
