import { setTimeout as sleep } from "node:timers/promises";
import { SessionError } from "../core/errors.ts";
import {
  type EventStore,
  isDeleted,
  type PositionedEvent,
  type Projection,
} from "../core/event-store.ts";
import { type DeletionDeps, deleteSession } from "../forgetting/forget-memory.ts";

interface Deps extends DeletionDeps {
  readonly events: EventStore;
  /** Runs `work` while nothing works on the session. Throws `SESSION_BUSY` when another process does. */
  alone(sessionId: string, work: () => Promise<void>): Promise<void>;
  /** Drops what this process has of the session. */
  drop(sessionId: string): void;
}

/** How long a deletion waits for another process that does the same, and how often it looks. */
const WAITS_MS = 5_000;
const LOOK_MS = 20;

/**
 * Ends deletions. `session_deleted` in the log is the moment from which a session is gone. What was made
 * from the log is deleted after that, and the log last, so a kill at any point leaves the log to say what is left
 * to do. The process that deletes ends it itself; after a kill, the next one that follows the log does.
 */
export class Deletions implements Projection {
  readonly name = "deletions";
  readonly #deps: Deps;
  /** Sessions that another process works on. It may be killed, so they are looked at again. */
  readonly #left = new Set<string>();
  readonly #ending = new Map<string, Promise<void>>();
  /** The position that this process has seen. The saved one stays before what is left. */
  #seen = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async position(): Promise<number> {
    const { events } = this.#deps;
    let saved = await events.checkpoint(this.name);
    if (saved === 0 && this.#seen === 0) {
      // The log of an earlier version has no such event, so it need not be read for one.
      saved = await events.checkpoint("approvals");
      if (saved > 0) await events.saveCheckpoint(this.name, saved);
    }
    return Math.max(saved, this.#seen);
  }

  async apply(batch: readonly PositionedEvent[]): Promise<void> {
    for (const { sessionId, stored } of batch) {
      if (stored.event.type === "session_deleted") this.#left.add(sessionId);
    }
    for (const sessionId of [...this.#left]) {
      if (await this.#isEnded(sessionId)) this.#left.delete(sessionId);
    }
    this.#seen = Math.max(this.#seen, batch.at(-1)?.position ?? 0);
    if (this.#left.size === 0) await this.#deps.events.saveCheckpoint(this.name, this.#seen);
  }

  /** Ends the deletion of a session. Returns false when it had not begun. */
  async end(sessionId: string): Promise<boolean> {
    if (!(await this.#isUnderWay(sessionId))) return false;
    const givesUpAt = performance.now() + WAITS_MS;
    while (!(await this.#isEnded(sessionId))) {
      // The process that works on it ends it, or the next one.
      if (performance.now() > givesUpAt) break;
      await sleep(LOOK_MS);
    }
    return true;
  }

  /** Whether a session's deletion has ended, now or before, or never began. */
  async #isEnded(sessionId: string): Promise<boolean> {
    try {
      const ending = this.#ending.get(sessionId) ?? this.#end(sessionId);
      this.#ending.set(sessionId, ending);
      await ending.finally(() => this.#ending.delete(sessionId));
      return true;
    } catch (error) {
      if (SessionError.is(error) && error.code === "SESSION_BUSY") return false;
      throw error;
    }
  }

  async #end(sessionId: string): Promise<void> {
    if (!(await this.#isUnderWay(sessionId))) return;
    await this.#deps.alone(sessionId, async () => {
      // Another process may have ended it, and restored the session since.
      if (!(await this.#isUnderWay(sessionId))) return;
      await deleteSession(sessionId, this.#deps);
      this.#deps.drop(sessionId);
    });
  }

  /** Whether a deletion has begun and not ended. A snapshot without a log is what an earlier version may have left. */
  async #isUnderWay(sessionId: string): Promise<boolean> {
    const { events, sessions } = this.#deps;
    if ((await events.lastSeq(sessionId)) > 0) return await isDeleted(sessionId, events);
    return (await sessions.load(sessionId)) !== undefined;
  }
}
