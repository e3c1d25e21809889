import type { Metric } from "../../core/traces.ts";
import type { RunningTurns } from "./event-streams.ts";
import type { OpenStreams } from "./stream-response.ts";

/** How long `/ready` waits for the store. Those who ask it come again in seconds. */
const READY_MS = 2000;

/**
 * Whether the server can work now. Anybody may ask, so the store is asked by one at a time, however many come.
 */
export class Readiness {
  readonly #ask: () => Promise<unknown>;
  #asking: Promise<boolean> | undefined;

  constructor(ask: () => Promise<unknown> = async () => {}) {
    this.#ask = ask;
  }

  async isReady(): Promise<boolean> {
    this.#asking ??= this.#answered().finally(() => {
      this.#asking = undefined;
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), READY_MS);
    });
    return await Promise.race([this.#asking, late]).finally(() => clearTimeout(timer));
  }

  async #answered(): Promise<boolean> {
    try {
      await this.#ask();
      return true;
    } catch {
      return false;
    }
  }
}

/** Counts the requests of a server, by their route and what they were answered. */
export class RequestCounts {
  readonly #counts = new Map<string, { route: string; status: string; value: number }>();

  add(route: string, status: number): void {
    const key = `${route} ${status}`;
    const known = this.#counts.get(key);
    if (known) known.value += 1;
    else this.#counts.set(key, { route, status: String(status), value: 1 });
  }

  /** The numbers of the server itself. */
  read(now: {
    readonly turns: Pick<RunningTurns, "size">;
    readonly streams: Pick<OpenStreams, "size">;
  }): readonly Metric[] {
    return [
      {
        name: "rkat_http_requests_total",
        help: "Requests that were answered. A stream counts when it begins.",
        type: "counter",
        samples: [...this.#counts.values()].map(({ route, status, value }) => ({
          value,
          labels: { route, status },
        })),
      },
      {
        name: "rkat_http_turns_running",
        help: "Turns and compactions that requests wait for.",
        type: "gauge",
        samples: [{ value: now.turns.size }],
      },
      {
        name: "rkat_http_streams_open",
        help: "Event streams that are open.",
        type: "gauge",
        samples: [{ value: now.streams.size }],
      },
    ];
  }
}
