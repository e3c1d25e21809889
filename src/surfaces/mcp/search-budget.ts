import { headWithin, utf8Bytes } from "../../core/tokens.ts";
import type { ObjectSchema } from "../wire-schema.ts";

const LIMIT_DEFAULT = 5;
const LIMIT_MAX = 20;
/** UTF-8 bytes of the text of one result, and of all: about 5 000 tokens of a model's window. */
const BYTES_MAX = [4_000, 20_000] as const;
const UNLIMITED = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY] as const;

/** What some fields mean for a model, which pays for every result. */
export const SEARCH_FIELDS: Readonly<Record<string, object>> = {
  limit: {
    maximum: undefined,
    default: LIMIT_DEFAULT,
    description: `Results at the most. Default ${LIMIT_DEFAULT}; more than ${LIMIT_MAX} are never returned.`,
  },
  max_tokens: {
    description: "Tokens that the texts of all results may take together. Default about 5000.",
  },
};

interface Said {
  readonly content: string;
}

interface Hit extends Said {
  readonly score?: number;
  readonly neighbours?: { readonly before: readonly Said[]; readonly after: readonly Said[] };
}

/** The request with a model's default. */
export function withSearchDefault(request: Readonly<Record<string, unknown>>) {
  return { limit: LIMIT_DEFAULT, ...request };
}

/**
 * Search results cut to what a model has room for; `cut` says what is missing. A model that said
 * how many tokens it has room for has been answered within them.
 */
export function withinSearchBudget(
  results: readonly Hit[],
  { max_tokens }: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const [resultMax, allMax] = max_tokens === undefined ? BYTES_MAX : UNLIMITED;
  const kept: Hit[] = [];
  let bytes = 0;
  let shortened = 0;
  for (const { neighbours, ...hit } of results.slice(0, LIMIT_MAX)) {
    const content = headWithin(hit.content, Math.min(resultMax, allMax - bytes));
    if (content === "") break;
    bytes += utf8Bytes(content);
    const around = neighbours ? bytesAround(neighbours) : 0;
    const fits = bytes + around <= allMax;
    if (fits) bytes += around;
    if (content.length < hit.content.length || !fits) shortened += 1;
    const { score } = hit;
    kept.push({
      ...hit,
      content,
      ...(score === undefined ? {} : { score: Math.round(score * 1000) / 1000 }),
      ...(neighbours && fits ? { neighbours } : {}),
    });
  }
  const missing = results.length - kept.length;
  const cut = [
    ...(missing > 0 ? [`${missing} more results are left out`] : []),
    ...(shortened > 0 ? [`${shortened} results are cut short`] : []),
  ].join(", and ");
  return {
    results: kept,
    ...(cut ? { cut: `${cut}. Ask more exactly, or for fewer; session_read has all of it.` } : {}),
  };
}

function bytesAround({ before, after }: NonNullable<Hit["neighbours"]>): number {
  return [...before, ...after].reduce((sum, { content }) => sum + utf8Bytes(content), 0);
}

/** The schema of search results, with what says that some are missing. */
export function searchOutput(schema: ObjectSchema): ObjectSchema {
  const cut = { type: "string", description: "Says what was left out to keep this short." };
  return { ...schema, properties: { ...schema.properties, cut } };
}
