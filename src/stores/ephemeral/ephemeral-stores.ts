import { SessionError } from "../../core/errors.ts";
import {
  type ForgottenMarks,
  type ForgottenTexts,
  forgottenCopy,
  forgottenMarks,
  marksOfEach,
  newForgettingKey,
} from "../../core/forgotten-texts.ts";
import type { Stores } from "../../core/stores.ts";
import { requireUserName } from "../../core/user-name.ts";
import { EphemeralApprovalStore } from "./ephemeral-approval-store.ts";
import { EphemeralEventStore } from "./ephemeral-event-store.ts";
import { EphemeralImportStore } from "./ephemeral-import-store.ts";
import { EphemeralKnowledgeStore } from "./ephemeral-knowledge-store.ts";
import { EphemeralSessionStore } from "./ephemeral-session-store.ts";
import { SimpleMemoryStore } from "./simple-memory-store.ts";

/** Stores that live in this process and end with it. */
export function ephemeralStores(): Stores {
  const ofUsers = new Map<string, Stores>();
  return {
    ...newStores(),
    forUser(user) {
      const name = requireUserName(user);
      const stores = ofUsers.get(name) ?? {
        ...newStores(),
        async users() {
          return [];
        },
        // A user has no users.
        forUser() {
          throw new SessionError("USER_NOT_ALLOWED");
        },
      };
      ofUsers.set(name, stores);
      return stores;
    },
    async users() {
      const found = await Promise.all(
        [...ofUsers].map(async ([name, { sessions, knowledge }]) => {
          const listed = await sessions.list({ includeArchived: true, limit: 1 });
          return [...listed, ...(await knowledge.list({ limit: 1 }))].length > 0 ? [name] : [];
        }),
      );
      return found.flat();
    },
  };
}

function newStores(): Omit<Stores, "forUser" | "users"> {
  const events = new EphemeralEventStore();
  const sessions = new EphemeralSessionStore();
  return {
    events,
    sessions,
    imports: new EphemeralImportStore(events, sessions),
    memory: new SimpleMemoryStore(),
    approvals: new EphemeralApprovalStore(),
    knowledge: new EphemeralKnowledgeStore(),
    forgotten: new EphemeralForgottenTexts(),
    trash: { events: new EphemeralEventStore(), sessions: new EphemeralSessionStore() },
    async close() {},
  };
}

/** Keeps the marks of forgotten texts in this process only. */
export class EphemeralForgottenTexts implements ForgottenTexts, ForgottenMarks {
  readonly #key = newForgettingKey();
  readonly #marks = new Set<string>();

  async add(sessionId: string, texts: readonly string[]): Promise<void> {
    for (const mark of forgottenMarks(this.#key, sessionId, texts)) {
      if (mark !== undefined) this.#marks.add(mark);
    }
  }

  async has(sessionId: string, texts: readonly string[]): Promise<readonly boolean[]> {
    if (this.#marks.size === 0) return texts.map(() => false);
    const each = marksOfEach(this.#key, [...this.#marks], sessionId, texts);
    return each.map((marks) => marks.some((mark) => this.#marks.has(mark)));
  }

  async copy(): Promise<readonly string[]> {
    return this.#marks.size === 0 ? [] : forgottenCopy(this.#key, [...this.#marks]);
  }

  async restore(copy: readonly string[]): Promise<void> {
    for (const mark of copy) this.#marks.add(mark);
  }
}
