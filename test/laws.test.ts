import { join } from "node:path";
import { describe, onTestFinished } from "vitest";
import type { ApprovalStore } from "../src/core/approval-store.ts";
import type { EventStore } from "../src/core/event-store.ts";
import type { KnowledgeStore } from "../src/core/knowledge-store.ts";
import type { SessionStore } from "../src/core/session-store.ts";
import { type Stores, sqliteStores } from "../src/sqlite.ts";
import { EphemeralApprovalStore } from "../src/stores/ephemeral/ephemeral-approval-store.ts";
import { EphemeralEventStore } from "../src/stores/ephemeral/ephemeral-event-store.ts";
import { EphemeralKnowledgeStore } from "../src/stores/ephemeral/ephemeral-knowledge-store.ts";
import { EphemeralSessionStore } from "../src/stores/ephemeral/ephemeral-session-store.ts";
import {
  approvalStoreLaws,
  eventStoreLaws,
  knowledgeStoreLaws,
  sessionStoreLaws,
} from "../src/testing.ts";
import { obey } from "./support/obey.ts";

const THREADS = ["main", "worker"] as const;

describe("EventStore", () => {
  obey<EventStore>(eventStoreLaws, [
    { name: "ephemeral", durable: false, open: async () => new EphemeralEventStore() },
    { name: "sqlite without a file", durable: false, open: async () => inMemory().events },
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

describe("ApprovalStore", () => {
  obey<ApprovalStore>(approvalStoreLaws, [
    { name: "ephemeral", durable: false, open: async () => new EphemeralApprovalStore() },
    ...THREADS.map((thread) => ({
      name: `sqlite (${thread} thread)`,
      durable: true,
      open: async (place: string) => storesIn(place, thread).approvals,
    })),
  ]);
});

describe("KnowledgeStore", () => {
  obey<KnowledgeStore>(knowledgeStoreLaws, [
    { name: "ephemeral", durable: false, open: async () => new EphemeralKnowledgeStore() },
    { name: "sqlite without a file", durable: false, open: async () => inMemory().knowledge },
    ...THREADS.map((thread) => ({
      name: `sqlite (${thread} thread)`,
      durable: true,
      open: async (place: string) => storesIn(place, thread).knowledge,
    })),
  ]);
});

function inMemory(): Stores {
  const stores = sqliteStores({ path: ":memory:" });
  onTestFinished(() => stores.close());
  return stores;
}

function storesIn(place: string, thread: "main" | "worker"): Stores {
  const stores = sqliteStores({ path: join(place, "rkat.db"), thread });
  onTestFinished(() => stores.close());
  return stores;
}
