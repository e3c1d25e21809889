import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import type { Embedder } from "../../core/embedder.ts";
import { joinSignals } from "../../core/join-signals.ts";
import type { MemoryStats } from "../../core/memory-store.ts";
import type { EmbeddedSearch } from "./search-vectors.ts";
import {
  CALIBRATION_PAIRS,
  type Calibration,
  calibrate,
  type OpenedSpace,
  type PassageVector,
  type PendingPage,
  type PendingPassage,
} from "./store-vectors.ts";
import { vectorProblem } from "./vector-codes.ts";

/** A process that searches once and ends starts no work in the background. */
const FIRST_LOOK_MS = 1000;
const QUERY_TIMEOUT_MS = 3000;
/** After a question could not be embedded, searches use words alone for so long. */
const PAUSE_MS = 10_000;

/** The work of a memory store with an embedder: questions are embedded at once, passages in the background. */
export class EmbeddedMemory {
  readonly #embedder: Embedder;
  readonly #queue: VectorQueue;
  #firstLook: NodeJS.Timeout | undefined;
  #failed: { readonly problem: string; readonly until: number } | undefined;

  constructor(work: VectorWork, embedder: Embedder) {
    this.#embedder = embedder;
    this.#queue = new VectorQueue(work, { embedder });
  }

  /** Says that passages were added. */
  wake(): void {
    this.#queue.wake();
  }

  async embed(texts: readonly string[]): Promise<EmbeddedSearch> {
    this.#firstLook ??= setTimeout(() => this.#queue.wake(), FIRST_LOOK_MS).unref();
    const embedder = this.#embedder.id;
    const failed = this.#failed;
    if (failed && performance.now() < failed.until) return { problem: failed.problem, embedder };
    const embedded = await embedQueries(this.#embedder, texts, QUERY_TIMEOUT_MS);
    this.#failed =
      "problem" in embedded
        ? { problem: embedded.problem, until: performance.now() + PAUSE_MS }
        : undefined;
    return { ...embedded, embedder, ...(this.#embedder.trained ? {} : { counted: true }) };
  }

  async stats(): Promise<NonNullable<MemoryStats["vectors"]>> {
    const { embedded, pending } = await this.#queue.status();
    return { embedder: this.#embedder.id, embedded, pending };
  }

  /** Resolves when every passage has its vector, or the rest keep failing. */
  done(): Promise<VectorQueueStatus> {
    return this.#queue.done();
  }

  async close(): Promise<void> {
    clearTimeout(this.#firstLook);
    await this.#queue.close();
  }
}

/** The vectors of questions, in their order, or why there are none. */
type EmbeddedQueries =
  | { readonly vectors: readonly (Float32Array | undefined)[] }
  | { readonly problem: string };

/** Embeds questions in one call. A search does not wait long for it, since words alone find something too. */
async function embedQueries(
  embedder: Embedder,
  texts: readonly string[],
  timeoutMs: number,
): Promise<EmbeddedQueries> {
  try {
    const answers = await embedInTime(embedder, texts, AbortSignal.timeout(timeoutMs));
    const vectors = answers.map((vector) => (knowsNothing(embedder, vector) ? undefined : vector));
    const problem = texts
      .map((_, index) => answers[index])
      .filter((vector) => !knowsNothing(embedder, vector))
      .map((vector) => vectorProblem(vector, embedder.dimensions))
      .find((found) => found !== undefined);
    return problem === undefined ? { vectors } : { problem };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

/** The operations of a store that the queue needs: those of `store-vectors.ts`, and a lease on the work. */
export interface VectorWork {
  /** Another owner has closed the store. */
  readonly closed: boolean;
  openSpace(
    embedder: Pick<Embedder, "id" | "dimensions">,
    known: number | undefined,
  ): Promise<OpenedSpace>;
  pendingPassages(
    space: number,
    before: number | undefined,
    limit: number,
  ): Promise<PendingPage | undefined>;
  storeVectors(space: number, vectors: readonly PassageVector[]): Promise<number | undefined>;
  saveCalibration(space: number, calibration: Calibration): Promise<void>;
  deleteOtherSpaces(space: number): Promise<boolean>;
  vectorStats(embedder: string): Promise<{ readonly embedded: number; readonly pending: number }>;
  /** Takes or renews the lease; false when another process has it. */
  lease(ttlMs: number): Promise<boolean>;
  release(): Promise<void>;
}

export interface VectorQueueOptions {
  readonly embedder: Embedder;
  /** Passages in one call of the embedder, at most. Default 64. */
  readonly batchSize?: number;
  /** Milliseconds that one call may take. Default 60 000. */
  readonly timeoutMs?: number;
  /** The pause after a failure; it doubles with each further one, up to a minute. Default 1000. */
  readonly retryMs?: number;
}

export interface VectorQueueStatus {
  /** `waiting`: for the embedder to recover, or while another process does the work. */
  readonly state: "idle" | "working" | "waiting" | "closed";
  /** Passages that have a vector, and those that are still to get one. */
  readonly embedded: number;
  readonly pending: number;
  /** The last failure, unless a batch has succeeded since. */
  readonly failure?: string;
}

const BATCH = 64;
const TIMEOUT_MS = 60_000;
const RETRY_MS = 1000;
const RETRY_MS_MAX = 60_000;
/** The number of failures in a row after which `done` waits no longer. */
const FAILURES_MAX = 5;
const LEASE_MS = 15_000;

/** The end of a sweep through the pending passages: none left, some to try later, or the space replaced. */
type Sweep = "done" | "later" | "replaced";

/**
 * Makes vectors of passages that have none, in the background, newest entries first.
 *
 *     add ─► wake ─► lease ─► page of pending passages ─► embedder ─► stored, a batch at a time
 *                                       │ none left                      │
 *                                       └─► other embedders' vectors go  └─► next page
 *
 * The store knows what is pending, so a kill loses one batch of work and nothing else. Of several processes
 * one works at a time. A batch that fails is tried again, later and smaller, so that one bad text does not
 * hold up the others.
 */
export class VectorQueue {
  readonly #work: VectorWork;
  readonly #options: Required<VectorQueueOptions>;
  readonly #closing = new AbortController();
  #state: VectorQueueStatus["state"] = "idle";
  #failure: string | undefined;
  #failures = 0;
  #running: Promise<void> | undefined;
  #wokenAgain = false;
  #space: number | undefined;
  /** Another embedder's vectors have replaced ours. */
  #replaced = false;
  #untilSettled = Promise.withResolvers<void>();

  constructor(work: VectorWork, options: VectorQueueOptions) {
    this.#work = work;
    this.#options = { batchSize: BATCH, timeoutMs: TIMEOUT_MS, retryMs: RETRY_MS, ...options };
  }

  /** Says that there may be something to embed. */
  wake(): void {
    this.#wokenAgain = true;
    this.#running ??= this.#run();
  }

  async status(): Promise<VectorQueueStatus> {
    const counts = await this.#work.vectorStats(this.#options.embedder.id);
    const failure = this.#failure === undefined ? {} : { failure: this.#failure };
    return { state: this.#state, ...counts, ...failure };
  }

  /** Resolves when nothing is pending, or when the remaining passages keep failing. */
  async done(): Promise<VectorQueueStatus> {
    this.wake();
    // The pause before the next attempt does not keep the process alive; this does.
    const alive = setInterval(() => {}, LEASE_MS);
    await this.#untilSettled.promise;
    clearInterval(alive);
    return this.status();
  }

  /** Stops at once, and gives up the batch at work. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
    this.#state = "closed";
  }

  get #stopped(): boolean {
    return this.#closing.signal.aborted || this.#work.closed;
  }

  async #run(): Promise<void> {
    // `wake` returns before the first command runs.
    await setImmediate();
    while (this.#wokenAgain && !this.#stopped && !this.#replaced) {
      this.#wokenAgain = false;
      let sweep: Sweep = "later";
      try {
        sweep = await this.#withLease(() => this.#sweep());
      } catch (error) {
        this.#failed(error);
      }
      this.#replaced = sweep === "replaced";
      if (sweep !== "later") continue;
      if (this.#failures > 0) this.#settle();
      await this.#wait();
      this.#wokenAgain = true;
    }
    this.#state = "idle";
    this.#running = undefined;
    this.#settle();
  }

  async #sweep(): Promise<Sweep> {
    const opened = await this.#openSpace();
    if (opened.type !== "open") return opened.type === "empty" ? "done" : "replaced";
    const space = opened.number;
    /** Slots whose passages wait for the next sweep. */
    const left = new Set<number>();
    /** Passages of the last page that are not embedded yet. */
    let waiting: readonly PendingPassage[] = [];
    /** Where the next page begins; `undefined` for the newest entries. */
    let before: number | undefined;
    /** Whether anything was embedded since the newest entries were looked at. */
    let embedded = false;
    let size = this.#options.batchSize;
    while (!this.#stopped) {
      // Passages that were added meanwhile come first.
      if (this.#wokenAgain) {
        before = undefined;
        waiting = [];
      }
      this.#wokenAgain = false;
      if (waiting.length === 0) {
        const page = await this.#work.pendingPassages(space, before, size + left.size);
        if (!page) return "replaced";
        if (page.pending === 0) return this.#finish(space);
        waiting = page.passages.filter(({ slot }) => !left.has(slot));
        before = page.before;
        // Another process may have added some: the sweep ends when a whole pass has found nothing.
        if (waiting.length === 0 && before === undefined) {
          if (!embedded) return left.size > 0 ? "later" : "done";
          embedded = false;
        }
        if (waiting.length === 0) continue;
      }
      const batch = waiting.slice(0, size);
      try {
        for (const slot of await this.#embed(space, batch)) left.add(slot);
        size = Math.min(2 * size, this.#options.batchSize);
        waiting = waiting.slice(batch.length);
        embedded = true;
      } catch (error) {
        this.#failed(error);
        if (size === 1) {
          for (const { slot } of batch) left.add(slot);
          waiting = waiting.slice(batch.length);
        }
        size = Math.ceil(size / 4);
        await this.#wait();
      }
    }
    return "done";
  }

  async #openSpace(): Promise<OpenedSpace> {
    const { id, dimensions } = this.#options.embedder;
    const opened = await this.#work.openSpace({ id, dimensions }, this.#space);
    if (opened.type !== "open") return opened;
    this.#space = opened.number;
    if (!opened.calibrated) {
      const vectors = await this.#vectorsOf(CALIBRATION_PAIRS.flat());
      // An embedder that knows no word of a pair says nothing about it.
      const isUnknown = vectors.map((vector) => knowsNothing(this.#options.embedder, vector));
      const known = vectors.filter((_, index) => !isUnknown[index] && !isUnknown[index ^ 1]);
      const problem = known.map((vector) => this.#problem(vector)).find(Boolean);
      if (problem) throw new Error(problem);
      const of = (part: number) => known.filter((_, index) => index % 2 === part);
      await this.#work.saveCalibration(opened.number, calibrate(of(0), of(1)));
    }
    return opened;
  }

  /** Returns the slots whose passages it could not embed. */
  async #embed(space: number, batch: readonly PendingPassage[]): Promise<readonly number[]> {
    const texts = batch.flatMap(({ text }) => text ?? []);
    const vectors = texts.length > 0 ? (await this.#vectorsOf(texts)).values() : [].values();
    const passages = batch.map(({ entry, slot, text }) => {
      if (text === null) return { entry, slot, vector: null, problem: undefined };
      const vector = vectors.next().value ?? null;
      return knowsNothing(this.#options.embedder, vector)
        ? { entry, slot, vector: null, problem: undefined }
        : { entry, slot, vector, problem: this.#problem(vector) };
    });
    const good = passages.filter(({ problem }) => problem === undefined);
    const bad = passages.filter(({ problem }) => problem !== undefined);
    await this.#work.storeVectors(
      space,
      good.map(({ entry, slot, vector }) => ({ entry, slot, vector })),
    );
    if (bad.length === 0) this.#failure = undefined;
    if (good.length > 0) this.#failures = 0;
    for (const { problem } of bad.slice(0, 1)) this.#failed(new Error(problem));
    return bad.map(({ slot }) => slot);
  }

  async #vectorsOf(texts: readonly string[]): Promise<readonly Float32Array[]> {
    const { embedder, timeoutMs } = this.#options;
    const { signal, release } = joinSignals([this.#closing.signal], timeoutMs);
    const vectors = await embedInTime(embedder, texts, signal).finally(release);
    if (vectors.length === texts.length) return vectors;
    throw new Error(`it gave ${vectors.length} vectors for ${texts.length} texts`);
  }

  #problem(vector: Float32Array | null): string | undefined {
    return vectorProblem(vector, this.#options.embedder.dimensions);
  }

  /** All passages have their vectors, so those of other embedders can go. */
  async #finish(space: number): Promise<Sweep> {
    while (await this.#work.deleteOtherSpaces(space)) {
      if (this.#stopped) break;
    }
    return "done";
  }

  async #withLease(work: () => Promise<Sweep>): Promise<Sweep> {
    if (!(await this.#work.lease(LEASE_MS))) return "later";
    this.#state = "working";
    // A failed renewal is harmless: two processes that do the same work store it once.
    const renewal = setInterval(
      () => void this.#work.lease(LEASE_MS).catch(() => {}),
      LEASE_MS / 3,
    );
    renewal.unref();
    try {
      return await work();
    } finally {
      clearInterval(renewal);
      await this.#work.release();
    }
  }

  #failed(error: unknown): void {
    if (this.#stopped) return;
    this.#failure = error instanceof Error ? error.message : String(error);
    this.#failures += 1;
    if (this.#failures >= FAILURES_MAX) this.#settle();
  }

  /** Longer after each failure; a short while when another process has the lease. */
  async #wait(): Promise<void> {
    this.#state = "waiting";
    const { retryMs } = this.#options;
    const ms = Math.min(retryMs * 2 ** Math.max(0, this.#failures - 1), RETRY_MS_MAX);
    await sleep(ms, undefined, { signal: this.#closing.signal, ref: false }).catch(() => {});
    this.#state = "working";
  }

  #settle(): void {
    this.#untilSettled.resolve();
    this.#untilSettled = Promise.withResolvers<void>();
  }
}

/** Whether the text has no word that the embedder knows. It is then found by words alone. */
function knowsNothing({ givesZeros }: Embedder, vector: Float32Array | null | undefined): boolean {
  return givesZeros === true && vector?.every((number) => number === 0) === true;
}

/** Gives up when the signal aborts, even if the embedder ignores it. */
async function embedInTime(
  embedder: Embedder,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  signal.throwIfAborted();
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(signal.reason);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    return await Promise.race([embedder.embed(texts, { signal }), givenUp]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
