import type { AssistantBlock, Message } from "./message.ts";
import type { TokenUsage } from "./usage.ts";

/**
 * Reports the parts of work to tools that watch a program: how long each took, inside which other one, and how it ended.
 *
 * Contract:
 * - The work is done once, and its result or its error is the caller's, whatever watches.
 * - What the work does is inside its span: spans that others begin there, too.
 * - Nothing of what was said is shown unless it was asked for.
 */
export interface Traces {
  span<Result>(start: SpanStart, work: (span: TracedSpan) => Promise<Result>): Promise<Result>;
}

/** Counts work: `new Meters()`. */
export interface Metered {
  /** The same traces, whose work is counted too. */
  over(traces: Traces): Traces;
}

/** The kind of work, by OpenTelemetry's names of the operations of generative AI. rkat's own begin with `rkat.`. */
export type TracedOperation =
  | "invoke_agent"
  | "chat"
  | "execute_tool"
  | "search_memory"
  | "rkat.recall"
  | "rkat.search_history"
  | "rkat.compact";

export interface SpanStart {
  readonly operation: TracedOperation;
  /** The agent, the model or the tool. */
  readonly of?: string;
  readonly sessionId?: string | undefined;
  /** `provider/model`. */
  readonly model?: string | undefined;
  readonly fields?: SpanFields;
  readonly contents?: () => TracedContents;
}

/** Names of OpenTelemetry's conventions, or of rkat's own. */
export type SpanFields = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>;

/** A span while its work goes on. */
export interface TracedSpan {
  set(fields: SpanFields): void;
  /** The `provider/model` that the work uses, if it is known only now. */
  uses(model: string): void;
  used(tokens: TokenUsage): void;
  said(contents: () => TracedContents): void;
  /** The work ended badly, and threw nothing. */
  failed(why: string): void;
}

/** The contents of a span. They are made only where an option asks for them. */
export interface TracedContents {
  readonly input?: readonly Message[];
  readonly output?: readonly AssistantBlock[];
  readonly args?: unknown;
  readonly result?: string;
  readonly query?: string | readonly string[];
}

/** Without anyone who watches. */
const NO_SPAN: TracedSpan = { set() {}, uses() {}, used() {}, said() {}, failed() {} };

export const NO_TRACES: Traces = { span: (_, work) => work(NO_SPAN) };

/** Where each copy of `@opentelemetry/api` finds what a program registered. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

/** Whether the program registered something that takes spans or metrics. */
function isWatched(): boolean {
  const { trace, metrics } = (Reflect.get(globalThis, REGISTERED) ?? {}) as {
    readonly trace?: unknown;
    readonly metrics?: unknown;
  };
  return trace !== undefined || metrics !== undefined;
}

/** Traces that are opened once the program is watched. Until then, nothing is loaded, and a span costs a look. */
export function whenWatched(open: () => Promise<Traces>): Traces {
  let opened: Promise<Traces> | undefined;
  return {
    async span(start, work) {
      if (!isWatched()) return await work(NO_SPAN);
      opened ??= open();
      return await (await opened).span(start, work);
    },
  };
}

/** A number, or several of one kind, that a program which watches a server reads. Nothing in it was said. */
export interface Metric {
  /** The name, such as `rkat_store_up`. */
  readonly name: string;
  /** One sentence. */
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly samples: readonly Sample[];
}

export interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** The end of the name: `_bucket`, `_sum` or `_count` of a histogram. */
  readonly part?: string;
}

/** The metrics in Prometheus' text format. */
export function prometheusText(metrics: readonly Metric[]): string {
  return metrics
    .map(({ name, help, type, samples }) =>
      [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} ${type}`,
        ...samples.map(({ value, labels = {}, part = "" }) => {
          const named = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`);
          const all = named.length > 0 ? `{${named.join(",")}}` : "";
          return `${name}${part}${all} ${value === Infinity ? "+Inf" : value}`;
        }),
        "",
      ].join("\n"),
    )
    .join("");
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
