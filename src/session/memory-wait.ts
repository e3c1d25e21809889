import type { MemoryLag } from "../core/memory-store.ts";
import type { Outages } from "../core/warn.ts";

/** How long a search waits for what was said last. With that, almost every search has all of it. */
const WAIT_MS = 1000;

/** Events that are soon in memory, also on a busy machine, and how much longer a search waits for so few. */
const FEW_EVENTS = 200;
const WAIT_FOR_FEW_MS = 9_000;

/** Writers at work hold events back for a shorter time than this. */
const HELD_S = 2;

/** Whether it is held back is asked once in this time, since each search would cost the server another question. */
const ASK_REST_MS = 1000;

interface WaitedFor {
  /** Resolves when memory has everything that the log has for it. It may take minutes. */
  projected(): Promise<void>;
  /** The part of the log that memory lacks now. */
  lag(): Promise<MemoryLag | undefined>;
  /** Whether others may keep memory from what the log has. */
  readonly holdsBack: boolean | undefined;
  readonly outages: Outages;
}

/**
 * Waits until memory has what was said, but not long: a search answers with what is there.
 *
 *     little is missing       the search waits, ten seconds at most, and has all of it
 *     much is missing         it waits a second
 *     others hold it back     it answers at once, and says what is missing
 *     it waited in vain       searches after it do not wait, until that work is done
 *     filling memory fails    it answers with what is there, on a full disk for example
 */
export class MemoryWait {
  readonly #waited: WaitedFor;
  /** Work for which somebody has waited in vain. */
  #late: Promise<unknown> | undefined;
  #askAgainMs = 0;

  constructor(waited: WaitedFor) {
    this.#waited = waited;
  }

  /** Returns whether memory has everything now. */
  async isDone(): Promise<boolean> {
    if (this.#late) return false;
    const { projected, outages } = this.#waited;
    const work = outages.attempt(projected, async () => {
      await projected();
      return true;
    });
    let done = await firstOf(work, WAIT_MS);
    if (done === "late" && (await this.#lacksFew())) done = await firstOf(work, WAIT_FOR_FEW_MS);
    if (done !== "late") return done === true;
    this.#late = work.finally(() => {
      this.#late = undefined;
    });
    return false;
  }

  async #lacksFew(): Promise<boolean> {
    const { lag, outages } = this.#waited;
    const { events = 0 } = (await outages.attempt(lag, lag)) ?? {};
    return events <= FEW_EVENTS;
  }

  /** Returns what memory lacks after the wait; undefined when it has everything. */
  async lag(): Promise<MemoryLag | undefined> {
    const { lag, holdsBack, outages } = this.#waited;
    const isDone = await this.isDone();
    if (isDone && (!holdsBack || performance.now() < this.#askAgainMs)) return undefined;
    const behind = await outages.attempt(lag, lag);
    if (!isDone || (behind?.seconds ?? 0) >= HELD_S) return behind;
    this.#askAgainMs = performance.now() + ASK_REST_MS;
    return undefined;
  }
}

async function firstOf<Result>(work: Promise<Result>, ms: number): Promise<Result | "late"> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
