import { join } from "node:path";
import { describe, onTestFinished } from "vitest";
import { type Capability, createSessionService } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { SimpleMemoryStore } from "../src/stores/ephemeral/simple-memory-store.ts";
import { type OpenService, scriptedModel, sessionServiceLaws } from "../src/testing.ts";
import { obey } from "./support/obey.ts";

/** Services on stores in one place, with the capabilities that a law asks for. */
function serviceIn(place: string): OpenService {
  return async ({ capabilities, replies = [], compaction }) => {
    const stores = sqliteStores({ path: join(place, ".rkat", "rkat.db") });
    const has = (capability: Capability) => capabilities.includes(capability);
    const memory = has("session-store") ? stores.memory : new SimpleMemoryStore();
    const service = createSessionService({
      model: scriptedModel(replies),
      ...(has("session-store") ? { stores, sessionFiles: join(place, ".rkat", "sessions") } : {}),
      ...(has("memory-store") ? { memory } : {}),
      ...(has("session-compaction") ? { compaction: { ...compaction } } : {}),
    });
    onTestFinished(async () => {
      await service.close();
      await stores.close();
    });
    return service;
  };
}

describe("SessionService", () => {
  obey<OpenService>(sessionServiceLaws, [
    { name: "sdk on sqlite", durable: true, open: async (place) => serviceIn(place) },
  ]);
});
