import { SharedAnswer } from "../../core/shared-answer.ts";
import type { Metric } from "../../core/traces.ts";
import type { RunningTurns } from "./event-streams.ts";
import type { OpenStreams } from "./stream-response.ts";

/** Whether the server can work now: whether `ask` succeeds in time. */
export function readiness(ask: () => Promise<unknown> = async () => {}): SharedAnswer<boolean> {
  const succeeds = async () => {
    try {
      await ask();
      return true;
    } catch {
      return false;
    }
  };
  return new SharedAnswer(succeeds, () => false);
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
