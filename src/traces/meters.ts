import { SessionError } from "../core/errors.ts";
import type { Metric, Sample, TracedOperation, Traces } from "../core/traces.ts";
import type { TokenUsage } from "../core/usage.ts";

/** The kinds of work, as people name them. */
const NAMES: Readonly<Record<TracedOperation, string>> = {
  invoke_agent: "turn",
  chat: "model_call",
  execute_tool: "tool_call",
  search_memory: "search_memory",
  "rkat.recall": "recall",
  "rkat.search_history": "search_history",
  "rkat.compact": "compaction",
};

/** Upper ends of the buckets, in seconds: a search takes some milliseconds, a turn minutes. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, Infinity];

interface Counted {
  running: number;
  /** How many ended so: `ok`, or the code of a failure. */
  readonly outcomes: Map<string, number>;
  seconds: number;
  readonly buckets: number[];
}

/**
 * Counts turns, calls of models and tools, searches and compactions: how many ended how, and how long they took. It knows
 * nothing of what was said, and neither names of sessions, tools nor users.
 *
 * Pass it to a service, and give its numbers to a server:
 *
 *     const meters = new Meters();
 *     const service = createSessionService({ model, stores, meters });
 *     await serveRest({ service, metrics: () => meters.read() });
 */
export class Meters {
  readonly #counted = new Map<string, Counted>();
  readonly #tokens = { input: 0, output: 0, cache_read: 0 };

  /** The same traces, whose work is counted too. */
  over(traces: Traces): Traces {
    return {
      span: (start, work) =>
        traces.span(start, (span) => {
          let failure: string | undefined;
          return this.#measured(
            start.operation,
            () =>
              work({
                ...span,
                failed: (why) => {
                  failure = why;
                  span.failed(why);
                },
                used: (usage) => {
                  if (start.operation === "chat") this.#addTokens(usage);
                  span.used(usage);
                },
              }),
            () => failure,
          );
        }),
    };
  }

  /** The numbers since the process began. */
  read(): readonly Metric[] {
    const each = (samples: (counted: Counted, labels: Labels) => readonly Sample[]) =>
      [...this.#counted].flatMap(([operation, counted]) => samples(counted, { operation }));
    return [
      {
        name: "rkat_operations_total",
        help: "Work that ended, by its outcome: ok, or the code of a failure.",
        type: "counter",
        samples: each(({ outcomes }, labels) =>
          [...outcomes].map(([outcome, value]) => ({ value, labels: { ...labels, outcome } })),
        ),
      },
      {
        name: "rkat_operations_running",
        help: "Work that goes on now.",
        type: "gauge",
        samples: each(({ running }, labels) => [{ value: running, labels }]),
      },
      {
        name: "rkat_operation_duration_seconds",
        help: "How long work took, failed work included.",
        type: "histogram",
        samples: each(durations),
      },
      {
        name: "rkat_model_tokens_total",
        help: "Tokens that providers counted in model calls. Those read from their caches are part of the input.",
        type: "counter",
        samples: Object.entries(this.#tokens).map(([type, value]) => ({ value, labels: { type } })),
      },
    ];
  }

  async #measured<Result>(
    operation: TracedOperation,
    work: () => Promise<Result>,
    failure: () => string | undefined,
  ): Promise<Result> {
    const counted = this.#of(NAMES[operation]);
    const startedAt = performance.now();
    counted.running += 1;
    let outcome = "ok";
    try {
      const result = await work();
      outcome = failure() ?? "ok";
      return result;
    } catch (error) {
      // A message may have something in it that was said.
      outcome = SessionError.is(error) ? error.code : "error";
      throw error;
    } finally {
      const seconds = (performance.now() - startedAt) / 1000;
      counted.running -= 1;
      counted.seconds += seconds;
      counted.outcomes.set(outcome, (counted.outcomes.get(outcome) ?? 0) + 1);
      const bucket = BUCKETS.findIndex((end) => seconds <= end);
      counted.buckets[bucket] = (counted.buckets[bucket] ?? 0) + 1;
    }
  }

  #of(operation: string): Counted {
    const known = this.#counted.get(operation);
    if (known) return known;
    const fresh = { running: 0, outcomes: new Map(), seconds: 0, buckets: BUCKETS.map(() => 0) };
    this.#counted.set(operation, fresh);
    return fresh;
  }

  #addTokens({ inputTokens, outputTokens, cacheReadTokens }: TokenUsage): void {
    this.#tokens.input += inputTokens;
    this.#tokens.output += outputTokens;
    this.#tokens.cache_read += cacheReadTokens ?? 0;
  }
}

type Labels = Readonly<Record<string, string>>;

/** A bucket of a histogram has all that were as fast or faster. */
function durations({ buckets, seconds }: Counted, labels: Labels): readonly Sample[] {
  let count = 0;
  const upTo = buckets.map((value, at): Sample => {
    count += value;
    const le = BUCKETS[at] === Infinity ? "+Inf" : String(BUCKETS[at]);
    return { value: count, labels: { ...labels, le }, part: "_bucket" };
  });
  return [
    ...upTo,
    { value: seconds, labels, part: "_sum" },
    { value: count, labels, part: "_count" },
  ];
}
