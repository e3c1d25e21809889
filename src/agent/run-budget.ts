import type { DurableEvent } from "../core/event.ts";
import type { Budget } from "../core/operations/turns.ts";
import { totalTokens, type Usage } from "../core/usage.ts";

type Warning = Extract<DurableEvent, { type: "budget_warning" }>;

/** Warns at this share of a limit, and again at the limit. */
const WARN_AT = 0.8;

/** Counts what one run uses of its limits. The clock starts with the run. */
export class RunBudget {
  readonly #limits: Budget;
  readonly #startedAtMs = performance.now();
  readonly #warned = new Set<string>();
  #tokens = 0;
  #toolCalls = 0;

  constructor(limits: Budget) {
    this.#limits = limits;
  }

  countCall(usage: Usage): void {
    this.#tokens += totalTokens(usage);
  }

  /** Takes one tool call from the budget. Returns false when none is left. */
  takeToolCall(): boolean {
    if (this.#toolCalls >= (this.#limits.maxToolCalls ?? Number.POSITIVE_INFINITY)) return false;
    this.#toolCalls += 1;
    return true;
  }

  get toolCalls(): number {
    return this.#toolCalls;
  }

  get exhausted(): boolean {
    return this.#uses().some(({ used, limit }) => used >= limit);
  }

  /** New warnings. Each comes once. */
  warnings(): Warning[] {
    return this.#uses().flatMap(({ type, used, limit }) => {
      const level = used >= limit ? 1 : used >= limit * WARN_AT ? WARN_AT : 0;
      if (level === 0 || this.#warned.has(`${type} ${level}`)) return [];
      this.#warned.add(`${type} ${level}`);
      const percent = Math.min(1, used / limit);
      return [{ type: "budget_warning", budget_type: type, used, limit, percent }];
    });
  }

  #uses(): { type: Warning["budget_type"]; used: number; limit: number }[] {
    const { maxTotalTokens, maxDurationMs, maxToolCalls } = this.#limits;
    const elapsed = Math.round(performance.now() - this.#startedAtMs);
    return [
      { type: "tokens" as const, used: this.#tokens, limit: maxTotalTokens },
      { type: "time" as const, used: elapsed, limit: maxDurationMs },
      { type: "tool_calls" as const, used: this.#toolCalls, limit: maxToolCalls },
    ].flatMap(({ limit, ...use }) => (limit === undefined ? [] : [{ ...use, limit }]));
  }
}
