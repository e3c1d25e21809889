import { join } from "node:path";
import {
  type Capability,
  createSessionService,
  EphemeralKnowledgeStore,
  type SessionService,
  type Stores,
} from "../../src/index.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { SimpleMemoryStore } from "../../src/stores/ephemeral/simple-memory-store.ts";
import { type ServiceSetup, scriptedModel } from "../../src/testing.ts";

/** A service on stores in `place`, with a model that says what it is told, and its end. */
export function scriptedService(
  place: string,
  { capabilities, replies = [], compaction, approvals }: ServiceSetup,
  stores: Stores = sqliteStores({ path: join(place, ".rkat", "rkat.db") }),
): { readonly service: SessionService; close(): Promise<void> } {
  const has = (capability: Capability) => capabilities.includes(capability);
  const memory = has("session-store") ? stores.memory : new SimpleMemoryStore();
  const knowledge = has("session-store") ? stores.knowledge : new EphemeralKnowledgeStore();
  const service = createSessionService({
    model: scriptedModel(replies),
    ...(has("session-store") ? { stores, sessionFiles: join(place, ".rkat", "sessions") } : {}),
    ...(has("memory-store")
      ? { memory, knowledge: { store: knowledge } }
      : { memory: false, knowledge: false }),
    ...(approvals ? { approvals } : {}),
    ...(has("session-compaction") ? { compaction: { ...compaction } } : {}),
  });
  return {
    service,
    async close() {
      await service.close();
      await stores.close();
    },
  };
}
