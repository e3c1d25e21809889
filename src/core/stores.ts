import type { ApprovalStore } from "./approval.ts";
import { SessionError } from "./errors.ts";
import type { EventStore } from "./event-store.ts";
import type { ForgottenMarks, ForgottenTexts } from "./forgotten-texts.ts";
import type { ImportKeys, ImportStore } from "./import-store.ts";
import type { KnowledgeStore } from "./knowledge-store.ts";
import type { MemoryStore } from "./memory-store.ts";
import type { NotCleaned } from "./operations/memory.ts";
import type { SessionStore } from "./session-store.ts";

/** Where deleted sessions wait until they are restored, or deleted for good. */
export interface TrashStores {
  readonly events: EventStore;
  readonly sessions: SessionStore;
}

/** Connections of a pool. */
export interface PoolConnections {
  readonly used: number;
  readonly idle: number;
  /** Work that waits for one. */
  readonly waiting: number;
}

/** From when on something is old. Without a time it never is. */
export interface AgeLimits {
  /** Deleted sessions that can be restored, from the time of the deletion. */
  readonly deletedMs?: number;
  /** Archived sessions, from their last change. */
  readonly archivedMs?: number;
  /** The first event of the log behind a checkpoint. */
  readonly logged?: { readonly ms: number; readonly behind: string };
}

/** The stores of one project and one namespace, opened and closed together. */
export interface Stores {
  readonly events: EventStore;
  readonly sessions: SessionStore;
  readonly memory: MemoryStore;
  readonly approvals: ApprovalStore;
  readonly knowledge: KnowledgeStore;
  /** Without it, an import can bring back what was forgotten. */
  readonly forgotten?: ForgottenTexts & ForgottenMarks;
  /** The imports from other programs. */
  readonly imports: ImportStore & ImportKeys;
  /** Without it, a deleted session cannot be restored. */
  readonly trash?: TrashStores;
  /**
   * The stores of one user, beside these. They share nothing with these or with another user's. They
   * end with these, so there is no need to close them.
   */
  forUser(user: string): Stores;
  /** The users who have something here, be it a deleted session, in no order. A user has no users. */
  users(): Promise<readonly string[]>;
  /** The users who have something older than that. Without it, the caller looks at each user. */
  usersWithOld?(limits: AgeLimits): Promise<readonly string[]>;
  /** The connections of this process to the database. Without it, there is none to count. */
  connections?(): PoolConnections | undefined;
  /** Where deleted texts may still be, because the database keeps them there for some time. */
  notCleaned?(): Promise<readonly NotCleaned[]>;
  close(): Promise<void>;
}

export const USER_CHARACTERS_MAX = 200;

/**
 * No control characters: they could make one name look like another namespace. No half of a surrogate
 * pair: it would be another text in a database.
 */
export const USER_NAME = /^[^\p{Cc}\p{Cs}]+$/u;
export const USER_NAME_PROBLEM = "must not have control characters or broken characters";

/**
 * The name of a user, for what must not load the schemas of requests.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function requireUserName(user: string): string {
  if (typeof user !== "string") {
    throw new SessionError("INVALID_PARAMS", { message: "user: it has to be a text." });
  }
  const isRightSize = user.length > 0 && user.length <= USER_CHARACTERS_MAX;
  if (isRightSize && USER_NAME.test(user)) return user;
  const problem = isRightSize
    ? USER_NAME_PROBLEM
    : `must have 1 to ${USER_CHARACTERS_MAX} characters`;
  throw new SessionError("INVALID_PARAMS", { message: `user: ${problem}.` });
}
