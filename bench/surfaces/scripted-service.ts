import { join } from "node:path";
import { createSessionService, type SessionService } from "rkat";
import { sqliteStores } from "rkat/sqlite";
import { scriptedModel } from "rkat/testing";

/** Deltas of every second answer; the others come in one. */
export const DELTAS = 1000;

/** A service on stores in `place`, with a model that answers at once. */
export function scriptedService(place: string): {
  readonly service: SessionService;
  close(): Promise<void>;
} {
  const stores = sqliteStores({ path: join(place, "rkat.db") });
  const text = "w".repeat(DELTAS);
  const service = createSessionService({
    model: scriptedModel((_, call) => ({ text, deltas: call % 2 === 0 ? 1 : DELTAS })),
    stores,
    memory: false,
  });
  return {
    service,
    async close() {
      await service.close();
      await stores.close();
    },
  };
}
