import type { Stores } from "../../core/stores.ts";
import { EphemeralApprovalStore } from "./ephemeral-approval-store.ts";
import { EphemeralEventStore } from "./ephemeral-event-store.ts";
import { EphemeralKnowledgeStore } from "./ephemeral-knowledge-store.ts";
import { EphemeralSessionStore } from "./ephemeral-session-store.ts";
import { SimpleMemoryStore } from "./simple-memory-store.ts";

/** Stores that live in this process and end with it. */
export function ephemeralStores(): Stores {
  return {
    events: new EphemeralEventStore(),
    sessions: new EphemeralSessionStore(),
    memory: new SimpleMemoryStore(),
    approvals: new EphemeralApprovalStore(),
    knowledge: new EphemeralKnowledgeStore(),
    trash: { events: new EphemeralEventStore(), sessions: new EphemeralSessionStore() },
    async close() {},
  };
}
