import type { ProviderCount } from "../compaction/measure-history.ts";

/** A shorter growth says little about a kind of text. */
const GROWTH_WORTH_LEARNING = 500;

/** Counts below this part of the estimate come from servers that leave out cached tokens. */
const PLAUSIBLE_MIN = 0.6;

/**
 * The least that an estimated token counts. Compactions are due at 80 % of the window, so this keeps within the
 * window what the estimate alone would fill it with.
 */
const EACH_MIN = 0.8;

/** The highest factor. No kind of text is estimated so wrongly; a larger difference has another cause. */
const EACH_MAX = 4;

/** A window may be far smaller than its owner says, which refused requests show. */
const REFUSED_MAX = 64;

/** A provider refused a request without a count. The factor rises at least by this. */
const REFUSED_STEP = 1.1;

/** The part of the way that the factor goes back when the provider counts less than expected. */
const FALL = 1 / 8;

interface Count {
  readonly estimated: number;
  readonly inputTokens: number;
}

/**
 * A model of how a provider counts the requests of one conversation: the tokens that the estimate does
 * not see, such as tools, and a factor for the estimated ones.
 *
 *     500 estimated      1 100 counted    600 unseen
 *     2 500 estimated    3 500 counted    2 000 more are 2 400: factor 1.2
 *     3 500 estimated                     3 500 + 1.2 × 1 000 expected
 *
 * The factor rises at once and falls slowly, so that it is still known when the next text of its kind comes.
 */
export class CountedTokens {
  /** The last count of the history as it is now. */
  #last: Count | undefined;
  /** The start of the growth that the factor is learned from next. */
  #grewFrom: Count | undefined;
  #unseen = 0;
  #factor = 1;

  counted(count: Count): void {
    const { estimated, inputTokens } = count;
    if (inputTokens < estimated * PLAUSIBLE_MIN) return;
    this.#last = count;
    const from = this.#grewFrom ?? count;
    const growth = estimated - from.estimated;
    if (growth >= GROWTH_WORTH_LEARNING) {
      const seen = (inputTokens - from.inputTokens) / growth;
      const within = Math.min(EACH_MAX, Math.max(EACH_MIN, seen));
      this.#factor = within >= this.#factor ? within : fallen(this.#factor, within);
    }
    if (growth >= GROWTH_WORTH_LEARNING || growth <= 0) this.#grewFrom = count;
    this.#unseen = Math.max(0, inputTokens - this.#factor * estimated);
  }

  /** `inputTokens` is the least that the refused request must have had. */
  refused({ estimated, inputTokens }: Count): void {
    const least = Math.max(inputTokens, this.expected(estimated) * REFUSED_STEP);
    this.#factor = Math.min(REFUSED_MAX, Math.max(this.#factor, least / Math.max(1, estimated)));
    this.historyChanged();
    this.#unseen = 0;
  }

  /** The last count was of another history. */
  historyChanged(): void {
    this.#last = undefined;
    this.#grewFrom = undefined;
  }

  /** How the provider counts a request of `estimated` tokens. */
  count(estimated: number): ProviderCount {
    const factor = this.#factor;
    return { factor, unseen: Math.max(0, this.expected(estimated) - factor * estimated) };
  }

  /** The expected count of the provider for a request of `estimated` tokens. */
  expected(estimated: number): number {
    const last = this.#last;
    const all =
      last && estimated >= last.estimated
        ? last.inputTokens + (estimated - last.estimated) * this.#factor
        : this.#unseen + estimated * this.#factor;
    return Math.floor(Math.max(estimated * EACH_MIN, all));
  }
}

function fallen(from: number, to: number): number {
  return from + (to - from) * FALL;
}
