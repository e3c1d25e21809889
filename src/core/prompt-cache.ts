import type { StoredEvent } from "./event.ts";
import { cacheMinutes } from "./prices.ts";

/** A model call that the provider read from its cache, or wrote into it. */
export interface CachedCall {
  readonly model: string;
  readonly at_ms: number;
}

/**
 * What a provider has of a session in its cache: a fold of the log.
 *
 * A call that read from the cache, or wrote into it, leaves its whole request there. A change of the history takes
 * that away, and so does time.
 */
export class PromptCache {
  #last: CachedCall | undefined;

  note({ event, timestamp_ms }: StoredEvent): void {
    switch (event.type) {
      case "turn_completed": {
        const { model, usage } = event;
        const cached = (usage.cache_read_tokens ?? 0) + (usage.cache_creation_tokens ?? 0);
        this.#last = model && cached > 0 ? { model, at_ms: timestamp_ms } : undefined;
        return;
      }
      case "compaction_completed":
      case "tool_output_pruned":
        this.#last = undefined;
        return;
    }
  }

  /** Whether the provider still has the last request. */
  isWarm(model: string, nowMs: number): boolean {
    if (this.#last?.model !== model) return false;
    return nowMs - this.#last.at_ms < cacheMinutes(model) * 60_000;
  }

  snapshot() {
    return this.#last ? { cached_call: this.#last } : {};
  }

  restore({ cached_call }: { readonly cached_call?: CachedCall }): void {
    this.#last = cached_call;
  }
}
