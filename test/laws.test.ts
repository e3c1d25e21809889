import { join } from "node:path";
import { describe, onTestFinished } from "vitest";
import type { EventStore } from "../src/core/event-store.ts";
import type { SessionStore } from "../src/core/session-store.ts";
import { type Stores, sqliteStores } from "../src/sqlite.ts";
import { EphemeralEventStore } from "../src/stores/ephemeral/ephemeral-event-store.ts";
import { EphemeralSessionStore } from "../src/stores/ephemeral/ephemeral-session-store.ts";
import { eventStoreLaws, sessionStoreLaws } from "../src/testing.ts";
import { obey } from "./support/obey.ts";

const THREADS = ["main", "worker"] as const;

describe("EventStore", () => {
  obey<EventStore>(eventStoreLaws, [
    { name: "ephemeral", durable: false, open: async () => new EphemeralEventStore() },
    ...THREADS.map((thread) => ({
      name: `sqlite (${thread} thread)`,
      durable: true,
      open: async (place: string) => storesIn(place, thread).events,
    })),
  ]);
});

describe("SessionStore", () => {
  obey<SessionStore>(sessionStoreLaws, [
    { name: "ephemeral", durable: false, open: async () => new EphemeralSessionStore() },
    ...THREADS.map((thread) => ({
      name: `sqlite (${thread} thread)`,
      durable: true,
      open: async (place: string) => storesIn(place, thread).sessions,
    })),
  ]);
});

function storesIn(place: string, thread: "main" | "worker"): Stores {
  const stores = sqliteStores({ path: join(place, "rkat.db"), thread });
  onTestFinished(() => stores.close());
  return stores;
}
