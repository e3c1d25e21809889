import { withinTokens } from "../../core/within-tokens.ts";
import type { ObjectSchema } from "../wire-schema.ts";

const LIMIT_DEFAULT = 5;
const LIMIT_MAX = 20;
const TOKENS_DEFAULT = 5_000;
const RESULT_TOKENS_MAX = 1_000;

/** What some fields mean for a model, which pays for every result. */
export const SEARCH_FIELDS: Readonly<Record<string, object>> = {
  limit: {
    maximum: undefined,
    default: LIMIT_DEFAULT,
    description: `Maximum number of results. Default ${LIMIT_DEFAULT}, at most ${LIMIT_MAX}.`,
  },
  max_tokens: {
    description: `Maximum tokens of all result texts together. Default about ${TOKENS_DEFAULT}.`,
  },
};

interface Hit {
  readonly content: string;
  readonly score?: number;
}

/** The request with a model's default. */
export function withSearchDefault(request: Readonly<Record<string, unknown>>) {
  return { limit: LIMIT_DEFAULT, ...request };
}

/**
 * Cuts search results to the room that a model has. `cut` says what was left out.
 * With `max_tokens` the service has already kept to what the model asked for.
 */
export function withinSearchBudget(
  results: readonly Hit[],
  { max_tokens }: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const first = results.slice(0, LIMIT_MAX);
  const kept =
    max_tokens === undefined ? withinTokens(first, TOKENS_DEFAULT, RESULT_TOKENS_MAX) : first;
  const cut = cutNote(
    results.length - kept.length,
    kept.filter((hit, index) => hit !== results[index]).length,
  );
  return { results: kept.map(withShortScore), ...(cut ? { cut } : {}) };
}

function cutNote(missing: number, shortened: number): string | undefined {
  const cut = [
    ...(missing > 0 ? [`${missing} more ${plural(missing)} left out`] : []),
    ...(shortened > 0 ? [`${shortened} ${plural(shortened)} cut short`] : []),
  ].join(", and ");
  if (cut === "") return undefined;
  return `${cut}. Ask a more exact question or for fewer results; session_read returns the whole text.`;
}

function plural(count: number): string {
  return count === 1 ? "result is" : "results are";
}

function withShortScore(hit: Hit): Hit {
  return hit.score === undefined ? hit : { ...hit, score: Math.round(hit.score * 1000) / 1000 };
}

/** The schema of search results, with `cut`. */
export function searchOutput(schema: ObjectSchema): ObjectSchema {
  const cut = { type: "string", description: "What was left out to keep the answer short." };
  return { ...schema, properties: { ...schema.properties, cut } };
}
