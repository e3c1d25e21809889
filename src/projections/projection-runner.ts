import type { EventStore, PositionedEvent, Projection } from "../core/event-store.ts";
import type { Outages } from "../core/warn.ts";
import { WorkQueue } from "../core/work-queue.ts";

/** Events per batch, so that a turn that ends meanwhile does not wait long. */
const BATCH = 200;

/** How long to wait after an append, so that appends in quick succession share one run. */
const SETTLE_MS = 50;

/** How long to rest after a run. The lease is kept meanwhile. Searches do not wait: they flush. */
const REST_MS = 500;

/** The longest work at the end of a process. What is left is done by the next one. */
const CLOSE_MS = 10_000;

/** The same for a process that appended nothing: a command that lists sessions is not the one to make up for others. */
const READER_CLOSE_MS = 1_000;

/** A store in this process answers without yielding. Timers and Ctrl-C get their turn at least so often, between batches. */
const YIELD_MS = 100;

/** When all processes close at once, one projects and the others look so often whether it moves on. */
const LOOK_MS = 50;
/** After this many checks without a change, this process does the work without the lease. */
const LOOKS_MAX = 20;

/** Lets one process at a time move projections on in the background. */
export interface ProjectionLease {
  readonly isHeld: boolean;
  /** Takes or renews it. Returns false when another process has it. */
  take(): Promise<boolean>;
  release(): Promise<void>;
}

interface RunnerOptions {
  /** Without it, this process moves its projections on whatever others do. */
  readonly lease?: ProjectionLease;
  readonly batch?: number;
  readonly closeMs?: number;
  readonly readerCloseMs?: number;
}

/**
 * Keeps projections up to date with the log, in the background.
 *
 * One process, which has the lease, does the work of all, so a turn costs the same with any number of
 * processes. It gives the lease back when nothing was appended for a while. The others look
 * again until it has projected what they appended. A flush does not wait for it.
 *
 * A failure is reported once per outage, and retried after the next append. Nothing is lost: the log has everything.
 */
export class ProjectionRunner {
  readonly #events: Pick<EventStore, "readAll">;
  readonly #projections: readonly Projection[];
  readonly #outages: Outages;
  readonly #lease: ProjectionLease | undefined;
  readonly #batch: number;
  readonly #closeMs: number;
  readonly #readerCloseMs: number;
  #isWoken = false;
  /** Whether this process appended to the log. */
  #hasAppended = false;
  #isClosed = false;
  /** The time of `performance.now()` from which on no batch begins. A timer would wait for stores that never yield. */
  #endsAt = Number.POSITIVE_INFINITY;
  #following: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #endRest: () => void = () => {};
  readonly #runs = new WorkQueue();
  /** A run of all projections that has not begun. */
  #next: Promise<void> | undefined;

  constructor(
    events: Pick<EventStore, "readAll">,
    projections: readonly Projection[],
    outages: Outages,
    {
      lease,
      batch = BATCH,
      closeMs = CLOSE_MS,
      readerCloseMs = READER_CLOSE_MS,
    }: RunnerOptions = {},
  ) {
    this.#events = events;
    this.#projections = projections;
    this.#outages = outages;
    this.#lease = lease;
    this.#batch = batch;
    this.#closeMs = closeMs;
    this.#readerCloseMs = readerCloseMs;
  }

  /** Starts a run soon, because this process appended something. */
  wake(): void {
    this.#hasAppended = true;
    this.catchUp();
  }

  /** Starts a run soon, because others may have left the projections behind the log. */
  catchUp(): void {
    if (this.#projections.length === 0 || this.#isClosed) return;
    this.#isWoken = true;
    this.#following ??= this.#follow()
      .catch((error) => this.#outages.failed(this, error))
      .finally(() => {
        this.#following = undefined;
        if (this.#isWoken) this.catchUp();
      });
  }

  /** Resolves when the projections have everything that is in the log now. */
  async flush(): Promise<void> {
    // A run that has begun may have read past the newest events.
    this.#next ??= this.#runs.run(async () => {
      this.#next = undefined;
      await this.#outages.watch(this, () => this.#run(this.#projections));
    });
    await this.#next;
  }

  /** Gives each projection one batch more. Returns the size of the largest. No other run may be going on. */
  async step(): Promise<number> {
    const { sizes, failures } = await this.#round(this.#projections);
    for (const failure of failures) throw failure;
    return Math.max(0, ...sizes.values());
  }

  /**
   * Brings the projections up to date, for ten seconds at most. Then it says what is left. A process that appended nothing
   * works for one second, and says nothing.
   */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    this.#isClosed = true;
    this.#endRest();
    this.#endsAt = performance.now() + (this.#hasAppended ? this.#closeMs : this.#readerCloseMs);
    try {
      await this.#following;
      const rest = (await this.#isLeftToOthers()) ? this.#ofThisProcess : this.#projections;
      await this.#runs.run(() => this.#outages.watch(this, () => this.#run(rest)));
      if (this.#hasAppended && this.#isStopped) await this.#sayWhatIsLeft();
      if (this.#lease?.isHeld) await this.#lease.release();
    } catch (error) {
      this.#outages.failed(this, error);
    }
  }

  /** Ends after the batch that it works on. The next process goes on there. */
  async stop(): Promise<void> {
    this.#isClosed = true;
    this.#endsAt = 0;
    this.#endRest();
    await this.#following;
    await this.#runs.idle();
  }

  get #isStopped(): boolean {
    return performance.now() >= this.#endsAt;
  }

  async #sayWhatIsLeft(): Promise<void> {
    const position = await this.#position();
    const [next] = position < Infinity ? await this.#events.readAll(position, 1) : [];
    if (!next) return;
    const since = new Date(next.stored.timestamp_ms).toISOString();
    this.#outages.failed(
      this,
      `Memory, and what else is made of the log, lacks what was said since ${since}. Another process goes on with it.`,
    );
  }

  /** Whether what all processes share has everything. Otherwise this process has to do the work. */
  async #isLeftToOthers(): Promise<boolean> {
    if (!this.#lease) return false;
    let last = -1;
    for (let looks = 0; looks < LOOKS_MAX && !this.#isStopped; looks += 1) {
      if (!this.#lease.isHeld && !(await this.#isBehind())) return true;
      if (await this.#lease.take()) return false;
      const position = await this.#position();
      if (position > last) looks = 0;
      last = position;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    return false;
  }

  get #ofThisProcess(): readonly Projection[] {
    return this.#projections.filter(({ isLocal }) => isLocal);
  }

  async #follow(): Promise<void> {
    try {
      await this.#rest(SETTLE_MS);
      while (!this.#isClosed && (await this.#isDue())) {
        this.#isWoken = false;
        const isOurs = await this.#isOurs();
        // Without the lease there is nothing to do, and what others append from now on is theirs.
        const isHeld = this.#lease?.isHeld ?? true;
        const ours = this.#projections.filter(({ isLocal }) => isHeld || isLocal);
        await this.#runs.run(() => this.#outages.watch(this, () => this.#run(ours, "while held")));
        this.#isWoken ||= !isOurs || isHeld !== (this.#lease?.isHeld ?? true);
        await this.#rest(isOurs ? REST_MS : REST_MS * (0.5 + Math.random()));
      }
    } finally {
      if (this.#lease?.isHeld) await this.#lease.release();
    }
  }

  /** Something was appended here, or by others while this process does the work for all. */
  async #isDue(): Promise<boolean> {
    return this.#isWoken || (this.#lease?.isHeld === true && (await this.#isBehind()));
  }

  /** Whether this process moves the shared projections on. It takes no lease when there is nothing to do. */
  async #isOurs(): Promise<boolean> {
    if (!this.#lease) return true;
    if (!this.#lease.isHeld && !(await this.#isBehind())) return true;
    return await this.#lease.take();
  }

  /** Whether the log has events that a shared projection does not have. */
  async #isBehind(): Promise<boolean> {
    const position = await this.#position();
    return position < Infinity && (await this.#events.readAll(position, 1)).length > 0;
  }

  /** The lowest position of the shared projections. */
  async #position(): Promise<number> {
    const shared = this.#projections.filter(({ isLocal }) => !isLocal);
    return Math.min(...(await Promise.all(shared.map((projection) => projection.position()))));
  }

  async #rest(ms: number): Promise<void> {
    if (this.#isClosed) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#endRest = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Moves projections on to the end of the log. With `until`, to about there, or until another process has the lease. */
  async #run(projections: readonly Projection[], until?: "while held"): Promise<void> {
    const failed: unknown[] = [];
    let yieldedAt = performance.now();
    for (let behind = projections; behind.length > 0 && !this.#isStopped; ) {
      const { sizes, failures } = await this.#round(behind);
      failed.push(...failures);
      if (performance.now() - yieldedAt > YIELD_MS) {
        await new Promise((resolve) => setImmediate(resolve));
        yieldedAt = performance.now();
      }
      // A long run renews the lease.
      const isLost = this.#lease?.isHeld && !(await this.#lease.take()) && until !== undefined;
      // Behind a short page is what was appended meanwhile. Who keeps the lease looks again after a rest, and reads it in one batch.
      const least = until && this.#lease?.isHeld ? this.#batch / 2 : 1;
      behind = behind.filter((projection) => {
        const size = sizes.get(projection) ?? 0;
        return projection.isLocal ? size > 0 : size >= least && !isLost;
      });
    }
    for (const failure of failed) throw failure;
  }

  /**
   * Projects one more batch. Projections at the same position share the read events, and one that is further on takes the rest
   * of a page, so that it shares the next one.
   */
  async #round(projections: readonly Projection[]) {
    const sizes = new Map<Projection, number>();
    const failures: unknown[] = [];
    const noted = async <Result>(work: () => Promise<Result>): Promise<Result | undefined> => {
      try {
        return await work();
      } catch (error) {
        failures.push(error);
        return undefined;
      }
    };
    const asked = projections.map((projection) =>
      noted(async () => {
        const position = await projection.position(() => this.#isStopped);
        return { projection, position };
      }),
    );
    const all = (await Promise.all(asked))
      .filter((one) => one !== undefined)
      .sort((one, other) => one.position - other.position);
    let page: { readonly from: number; readonly events: readonly PositionedEvent[] } | undefined;
    const work: Promise<void>[] = [];
    for (const { projection, position } of all) {
      const isNext = page?.from === position || (page?.events.at(-1)?.position ?? 0) > position;
      page = isNext ? page : await noted(() => this.#page(position));
      if (!page) continue;
      const size = page.events.length;
      const events = page.events.filter((event) => event.position > position);
      const apply = async () => {
        // What comes before it may have taken all the time that there was.
        if (events.length > 0 && !this.#isStopped) await projection.apply(events);
        sizes.set(projection, size);
      };
      work.push(noted(apply).then(() => {}));
    }
    await Promise.all(work);
    return { sizes, failures };
  }

  async #page(from: number) {
    return { from, events: await this.#events.readAll(from, this.#batch) };
  }
}
