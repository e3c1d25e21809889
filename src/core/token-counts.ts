import type { StoredEvent } from "./event.ts";

/** The snapshot of `TokenCounts`. */
export interface TokenCountsSnapshot {
  readonly last: CountedCall | null;
  readonly factors: Readonly<Record<string, number>>;
}

/** A model call that the provider counted, and what rkat had estimated. */
interface CountedCall {
  readonly model: string;
  readonly inputTokens: number;
  readonly estimated: number;
}

/** A shorter request says little: what a provider adds to each would count for much. */
const ESTIMATE_WORTH_LEARNING = 500;

/** No kind of text is counted so wrongly: a larger count has a fixed part, and teaches no factor. */
const LEARNED_MAX = 4;

/** The largest factor that a refused request teaches: a window may be far smaller than it is said to be. */
const REFUSED_MAX = 64;

/** A provider refused a request without a count. The factor rises at least by this. */
const REFUSED_STEP = 1.1;

/** How much of the way a factor goes back when a provider counts less than it did. */
const FALL = 1 / 8;

/**
 * How the models of a session count tokens, compared with the estimate: a fold of its log.
 *
 *     turn_completed    120 000 counted, 100 000 estimated    factor 1.2
 *     + 5 000 estimated since                                 120 000 + 1.2 × 5 000
 *     compaction_completed, 30 000 estimated                  1.2 × 30 000
 *
 * A factor rises at once and falls slowly, so that what one overflow taught is
 * still known when the next text of its kind comes. It is never below 1: some
 * servers do not count what they had cached.
 */
export class TokenCounts {
  #last: CountedCall | undefined;
  readonly #factors = new Map<string, number>();

  note({ event }: StoredEvent): void {
    switch (event.type) {
      case "turn_completed": {
        const { model, estimated_input_tokens: estimated, usage } = event;
        if (model === undefined || estimated === undefined || usage.input_tokens === 0) return;
        this.counted({ model, estimated, inputTokens: usage.input_tokens });
        return;
      }
      case "context_overflow": {
        const { model, estimated_input_tokens: estimated, input_tokens_min: least } = event;
        this.refused({ model, estimated, inputTokens: least });
        return;
      }
      // The last count was of another history.
      case "compaction_completed":
      case "tool_output_pruned":
      case "compaction_undone":
        this.historyChanged();
        return;
      case "history_inherited":
        this.restore({ last: null, factors: event.token_factors });
    }
  }

  counted(call: CountedCall): void {
    this.#last = call;
    const known = this.#factors.get(call.model) ?? 1;
    const isOther = call.inputTokens > call.estimated * LEARNED_MAX;
    this.#learn(isOther ? { ...call, inputTokens: call.estimated * known } : call, LEARNED_MAX);
  }

  /** `inputTokens` is the least that the refused request must have had. */
  refused({ model, estimated, inputTokens }: CountedCall): void {
    const known = this.#factors.get(model) ?? 1;
    const least = Math.max(inputTokens, estimated * known * REFUSED_STEP);
    this.#learn({ model, estimated, inputTokens: least }, REFUSED_MAX);
  }

  historyChanged(): void {
    this.#last = undefined;
  }

  /** The tokens that the model counts for each estimated one. */
  factor(model: string): number {
    return this.#factors.get(model) ?? 1;
  }

  /** Whether the model has counted or refused a request of this session. */
  knows(model: string): boolean {
    return this.#factors.has(model);
  }

  /** The model's expected count for a request that is estimated at so many tokens. */
  expected(model: string, estimated: number): number {
    const factor = this.#factors.get(model) ?? 1;
    const last = this.#last?.model === model ? this.#last : undefined;
    if (!last || estimated < last.estimated) return Math.floor(estimated * factor);
    const since = (estimated - last.estimated) * factor;
    return Math.max(estimated, Math.floor(last.inputTokens + since));
  }

  #learn({ model, estimated, inputTokens }: CountedCall, most: number): void {
    if (estimated < ESTIMATE_WORTH_LEARNING) return;
    const known = this.#factors.get(model) ?? 1;
    const seen = Math.min(most, Math.max(1, inputTokens / estimated));
    this.#factors.set(model, seen >= known ? seen : known + (seen - known) * FALL);
  }

  snapshot(): TokenCountsSnapshot {
    return { last: this.#last ?? null, factors: Object.fromEntries(this.#factors) };
  }

  restore({ last, factors }: TokenCountsSnapshot): void {
    this.#last = last ?? undefined;
    for (const [model, factor] of Object.entries(factors)) this.#factors.set(model, factor);
  }
}
