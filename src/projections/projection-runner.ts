import type { EventStore } from "../core/event-store.ts";
import type { Projection } from "../core/projection.ts";

/** Events per batch, so that a turn that ends meanwhile does not wait long. */
const BATCH = 200;

/** How long to wait after an append, so that appends in quick succession share one run. */
const SETTLE_MS = 50;

/**
 * How long to wait on average while other processes follow the same log, so that not all of them read
 * each event. Searches do not wait: they flush.
 */
const SHARED_SETTLE_MS = 500;

/** Other processes that did nothing for so long are gone. */
const SHARED_FOR_MS = 10_000;

/**
 * Keeps projections up to date with the log, in the background.
 *
 * A failure is reported and retried after the next append. Nothing is lost: the log has everything.
 */
export class ProjectionRunner {
  readonly #events: Pick<EventStore, "readAll">;
  readonly #projections: readonly Projection[];
  readonly #onError: (error: unknown) => void;
  readonly #batch: number;
  /** Where this process left each projection. */
  readonly #left = new Map<Projection, number>();
  /** When another process was last found to have moved one on. */
  #movedByOthersMs = -SHARED_FOR_MS;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(
    events: Pick<EventStore, "readAll">,
    projections: readonly Projection[],
    onError: (error: unknown) => void,
    batch = BATCH,
  ) {
    this.#events = events;
    this.#projections = projections;
    this.#onError = onError;
    this.#batch = batch;
  }

  /** Starts a run soon, because something was appended. */
  wake(): void {
    if (this.#projections.length === 0 || this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.flush().catch(this.#onError);
    }, this.#settleMs());
    this.#timer.unref();
  }

  #settleMs(): number {
    const isShared = performance.now() - this.#movedByOthersMs < SHARED_FOR_MS;
    return isShared ? SHARED_SETTLE_MS * (0.5 + Math.random()) : SETTLE_MS;
  }

  /** Resolves when the projections have everything that is in the log now. */
  async flush(): Promise<void> {
    // The current run may have read past the newest events.
    await this.#running?.catch(() => {});
    this.#running ??= this.#runAll().finally(() => {
      this.#running = undefined;
    });
    await this.#running;
  }

  /** Gives each projection one batch more. Returns the size of the largest. No other run may be going on. */
  async step(): Promise<number> {
    return Math.max(0, ...(await Promise.all(this.#projections.map((one) => this.#next(one)))));
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.flush().catch(this.#onError);
    clearTimeout(this.#timer);
  }

  async #runAll(): Promise<void> {
    const runs = await Promise.allSettled(this.#projections.map((one) => this.#run(one)));
    for (const run of runs) if (run.status === "rejected") throw run.reason;
  }

  async #run(projection: Projection): Promise<void> {
    while ((await this.#next(projection)) > 0);
  }

  async #next(projection: Projection): Promise<number> {
    const position = await projection.position();
    if (position > (this.#left.get(projection) ?? position)) {
      this.#movedByOthersMs = performance.now();
    }
    const events = await this.#events.readAll(position, this.#batch);
    if (events.length > 0) await projection.apply(events);
    this.#left.set(projection, events.at(-1)?.position ?? position);
    return events.length;
  }
}
