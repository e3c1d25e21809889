import type { StoredEvent } from "./event.ts";
import { cacheMinutes } from "./prices.ts";

/** A model call that the provider read from its cache, or wrote into it. */
export interface CachedCall {
  readonly model: string;
  readonly at_ms: number;
}

/** The calls since the history was changed last. */
export interface Pace {
  readonly calls: number;
  /** Estimated tokens of the history before them. */
  readonly tokens: number;
}

/**
 * The part of a session that a provider has in its cache, and how fast the session grows: a fold of the log, or of what the
 * host of a window tells.
 *
 * A call that read from the cache, or wrote into it, leaves its whole request there. A change of the history takes
 * that away, and so does time.
 */
export class PromptCache {
  #last: CachedCall | undefined;
  #pace: Pace = { calls: 0, tokens: 0 };

  /** Takes the next event. `historyTokens` are those of the history after it, estimated. */
  note({ event, timestamp_ms }: StoredEvent, historyTokens: number): void {
    switch (event.type) {
      case "turn_completed": {
        const { model, usage } = event;
        const cached = (usage.cache_read_tokens ?? 0) + (usage.cache_creation_tokens ?? 0);
        this.answered(model && cached > 0 ? { model, at_ms: timestamp_ms } : undefined);
        return;
      }
      case "compaction_undone":
        this.changed(historyTokens);
        return;
      case "compaction_completed":
      case "tool_output_pruned":
        this.changed(event.tokens_after);
        return;
    }
  }

  /** The model has answered. Undefined: its provider has nothing of the request in its cache. */
  answered(cached: CachedCall | undefined): void {
    this.#last = cached;
    this.#pace = { ...this.#pace, calls: this.#pace.calls + 1 };
  }

  /** The history is another one now, of so many estimated tokens. */
  changed(tokens: number): void {
    this.#last = undefined;
    this.#pace = { calls: 0, tokens };
  }

  /** The model that was cached last, if a call was since the history changed. */
  get model(): string | undefined {
    return this.#last?.model;
  }

  /** Tokens that each call added since the history was changed last. */
  growth(historyTokens: number): number {
    const { calls, tokens } = this.#pace;
    return Math.max(0, historyTokens - tokens) / Math.max(1, calls);
  }

  /** Whether the provider still has the last request. */
  isWarm(model: string, nowMs: number): boolean {
    if (this.#last?.model !== model) return false;
    return nowMs - this.#last.at_ms < cacheMinutes(model) * 60_000;
  }

  snapshot() {
    return { ...(this.#last ? { cached_call: this.#last } : {}), pace: this.#pace };
  }

  restore({
    cached_call,
    pace = this.#pace,
  }: {
    readonly cached_call?: CachedCall;
    readonly pace?: Pace;
  }): void {
    this.#last = cached_call;
    this.#pace = pace;
  }
}
