import type { EventStore } from "../core/event-store.ts";
import type { Projection } from "../core/projection.ts";

/** Events that a projection is given at once. */
const BATCH = 200;

/** How long after an append the projections start: appends that follow closely share one run. */
const SETTLE_MS = 50;

/**
 * Keeps projections up with the log, beside the turns and not in their way.
 *
 * What fails is told and tried again at the next occasion; the log has it all,
 * so nothing is lost meanwhile.
 */
export class ProjectionRunner {
  readonly #events: Pick<EventStore, "readAll">;
  readonly #projections: readonly Projection[];
  readonly #onError: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(
    events: Pick<EventStore, "readAll">,
    projections: readonly Projection[],
    onError: (error: unknown) => void,
  ) {
    this.#events = events;
    this.#projections = projections;
    this.#onError = onError;
  }

  /** Something was appended: run soon. */
  wake(): void {
    if (this.#projections.length === 0 || this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.flush().catch(this.#onError);
    }, SETTLE_MS);
    this.#timer.unref();
  }

  /** Resolves when everything that is in the log now has been projected. */
  async flush(): Promise<void> {
    // A run that is under way may have passed the place where the newest events went.
    await this.#running?.catch(() => {});
    this.#running ??= this.#runAll().finally(() => {
      this.#running = undefined;
    });
    await this.#running;
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
    for (;;) {
      const events = await this.#events.readAll(await projection.position(), BATCH);
      if (events.length === 0) return;
      await projection.apply(events);
    }
  }
}
