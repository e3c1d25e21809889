import type { ApprovalAnswer, ApprovalStore, PendingApproval } from "../../core/approval.ts";
import { SessionError } from "../../core/errors.ts";
import type { EventStore } from "../../core/event-store.ts";
import {
  type ForgottenMarks,
  type ForgottenTexts,
  forgottenCopy,
  forgottenMarks,
  marksOfEach,
  newForgettingKey,
} from "../../core/forgotten-texts.ts";
import {
  type ImportBatch,
  type ImportedFile,
  type ImportKeys,
  type ImportStore,
  importKey,
} from "../../core/import-store.ts";
import type { SessionStore } from "../../core/session-store.ts";
import { checkMethods } from "../../core/store-arguments.ts";
import type { Stores } from "../../core/stores.ts";
import { requireUserName } from "../../core/stores.ts";
import { WorkQueue } from "../../core/work-queue.ts";
import { EphemeralEventStore } from "./ephemeral-event-store.ts";
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
        [...ofUsers].map(async ([name, stores]) => ((await hasSomething(stores)) ? [name] : [])),
      );
      return found.flat();
    },
  };
}

async function hasSomething({
  sessions,
  trash,
  memory,
  knowledge,
  forgotten,
  imports,
}: Stores): Promise<boolean> {
  const found = [
    await sessions.list({ includeArchived: true, limit: 1 }),
    await trash?.sessions.list({ includeArchived: true, limit: 1 }),
    await memory.list({ limit: 1 }),
    await knowledge.list({ limit: 1 }),
    await forgotten?.copy(),
    await imports.keys("", 1),
  ];
  return found.some((some) => some !== undefined && some.length > 0);
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
class EphemeralForgottenTexts implements ForgottenTexts, ForgottenMarks {
  static {
    checkMethods("forgotten", EphemeralForgottenTexts);
  }
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

/** Keeps what waits for approval in this process only. */
export class EphemeralApprovalStore implements ApprovalStore {
  static {
    checkMethods("approvals", EphemeralApprovalStore);
  }
  readonly #approvals = new Map<string, { approval: PendingApproval; answer?: ApprovalAnswer }>();

  async add(approvals: readonly PendingApproval[]): Promise<void> {
    for (const approval of approvals) {
      if (!this.#approvals.has(approval.approvalId)) {
        this.#approvals.set(approval.approvalId, { approval });
      }
    }
  }

  async replace(approvals: readonly PendingApproval[]): Promise<void> {
    for (const approval of approvals) {
      const before = this.#approvals.get(approval.approvalId);
      if (before) this.#approvals.set(approval.approvalId, { ...before, approval });
    }
  }

  async list({ sessionId }: { readonly sessionId?: string }): Promise<readonly PendingApproval[]> {
    return [...this.#approvals.values()]
      .filter(({ answer }) => answer === undefined)
      .map(({ approval }) => approval)
      .filter((approval) => sessionId === undefined || approval.sessionId === sessionId);
  }

  async answer(approvalId: string, sessionId: string, answer: ApprovalAnswer): Promise<boolean> {
    const found = this.#approvals.get(approvalId);
    if (!found || found.answer || found.approval.sessionId !== sessionId) return false;
    found.answer = answer;
    return true;
  }

  async answers(approvalIds: readonly string[]): Promise<ReadonlyMap<string, ApprovalAnswer>> {
    return new Map(
      approvalIds.flatMap((id) => {
        const answer = this.#approvals.get(id)?.answer;
        return answer ? [[id, answer]] : [];
      }),
    );
  }

  async remove(
    which: { readonly approvalIds: readonly string[] } | { readonly sessionId: string },
  ): Promise<void> {
    for (const [id, { approval }] of this.#approvals) {
      const goes =
        "sessionId" in which
          ? approval.sessionId === which.sessionId
          : which.approvalIds.includes(id);
      if (goes) this.#approvals.delete(id);
    }
  }

  async close(): Promise<void> {}
}

/** Keeps what was imported in this process only. */
class EphemeralImportStore implements ImportStore, ImportKeys {
  static {
    checkMethods("imports", EphemeralImportStore);
  }
  readonly #events: EventStore;
  readonly #sessions: SessionStore;
  readonly #keys = new Set<string>();
  readonly #files = new Map<string, ImportedFile>();
  readonly #commits = new WorkQueue();

  constructor(events: EventStore, sessions: SessionStore) {
    this.#events = events;
    this.#sessions = sessions;
  }

  async known(ids: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(ids.filter((id) => this.#keys.has(importKey(id))));
  }

  commit(
    batches: readonly ImportBatch[],
    files: ReadonlyMap<string, ImportedFile> = new Map(),
  ): Promise<undefined> {
    return this.#commits.run(() => this.#commit(batches, files));
  }

  async #commit(
    batches: readonly ImportBatch[],
    files: ReadonlyMap<string, ImportedFile>,
  ): Promise<undefined> {
    for (const { sessionId, lastSeq, ids } of batches) {
      if (ids.some((id) => this.#keys.has(importKey(id)))) throw conflict("A message");
      if ((await this.#events.lastSeq(sessionId)) !== lastSeq) throw conflict("The session");
    }
    for (const { sessionId, lastSeq, events, snapshot, ids } of batches) {
      await this.#events.append(sessionId, lastSeq, events);
      for (const id of ids) this.#keys.add(importKey(id));
      await this.#sessions.save(snapshot);
    }
    for (const [path, file] of files) this.#files.set(path, file);
  }

  async files(): Promise<ReadonlyMap<string, ImportedFile>> {
    return new Map(this.#files);
  }

  async keys(after: string, limit: number): Promise<readonly string[]> {
    return [...this.#keys]
      .filter((key) => key > after)
      .sort()
      .slice(0, limit);
  }

  async restore(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#keys.add(key);
  }
}

function conflict(what: string): SessionError {
  return new SessionError("SESSION_CONFLICT", { detail: `${what} was imported meanwhile.` });
}
