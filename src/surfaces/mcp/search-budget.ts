import { headWithin, utf8Bytes } from "../../core/tokens.ts";
import type { ObjectSchema } from "../wire-schema.ts";

const LIMIT_DEFAULT = 5;
const LIMIT_MAX = 20;
/** UTF-8 bytes of the text of one result, and of all: about 5 000 tokens of a model's window. */
const RESULT_BYTES_MAX = 4_000;
const BYTES_MAX = 20_000;

/** What `limit` means for a model, which pays for every result. */
export const SEARCH_LIMITS = {
  maximum: undefined,
  default: LIMIT_DEFAULT,
  description: `Results at the most. Default ${LIMIT_DEFAULT}; more than ${LIMIT_MAX} are never returned.`,
};

interface Hit {
  readonly content: string;
  readonly score?: number;
}

/** The request with a model's default. */
export function withSearchDefault(request: Readonly<Record<string, unknown>>) {
  return { limit: LIMIT_DEFAULT, ...request };
}

/** Search results cut to what a model has room for; `cut` says what is missing. */
export function withinSearchBudget(results: readonly Hit[]): Record<string, unknown> {
  const kept: Hit[] = [];
  let bytes = 0;
  let shortened = 0;
  for (const hit of results.slice(0, LIMIT_MAX)) {
    const content = headWithin(hit.content, Math.min(RESULT_BYTES_MAX, BYTES_MAX - bytes));
    if (content === "") break;
    if (content.length < hit.content.length) shortened += 1;
    bytes += utf8Bytes(content);
    const { score } = hit;
    kept.push({
      ...hit,
      content,
      ...(score === undefined ? {} : { score: Math.round(score * 1000) / 1000 }),
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

/** The schema of search results, with what says that some are missing. */
export function searchOutput(schema: ObjectSchema): ObjectSchema {
  const cut = { type: "string", description: "Says what was left out to keep this short." };
  return { ...schema, properties: { ...schema.properties, cut } };
}
