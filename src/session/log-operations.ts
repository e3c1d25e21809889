import type { HistoryHit } from "../core/event-store.ts";
import type { CheckedRequest } from "../core/operations.ts";
import { NO_TRACES } from "../core/traces.ts";
import { forgetMemory } from "../forgetting/forget-memory.ts";
import { ofSource, saidOnce, searchFor, withSources } from "./memory-search.ts";
import type { Part, ServiceCore } from "./service-core.ts";

const SEARCH_LIMIT_DEFAULT = 10;

/** Searches the logs of all sessions, and forgets what is in them. */
export function logOperations(
  core: ServiceCore,
  { readKnowledge }: Part<"readKnowledge">,
): Part<"searchHistory" | "forgetMemory" | "forgetKnowledge"> {
  return {
    searchHistory: (request) => searchHistory(core, request),
    forgetMemory: ({ ids, sessionId = "" }) =>
      forgetMemory(ids ? { ids } : { sessionId }, core.forgetting),
    async forgetKnowledge(request, options) {
      const { id } = await readKnowledge(request, options);
      await forgetMemory({ ids: [id] }, core.forgetting);
    },
  };
}

/** Also called by the model's tool `search_project_history`. */
export async function searchHistory(
  { options }: ServiceCore,
  request: CheckedRequest<"searchHistory">,
): Promise<readonly HistoryHit[]> {
  const { events, sessions } = options.stores;
  const { limit = SEARCH_LIMIT_DEFAULT, ...query } = await ofSource(request, sessions, options);
  const search = (wider: number) => events.search({ ...query, limit: wider });
  const { tracer = NO_TRACES } = options;
  const contents = () => ({ query: request.query });
  const { sessionId } = query;
  return await tracer.span(
    { operation: "rkat.search_history", sessionId, contents },
    async (span) => {
      const hits = await searchFor<HistoryHit>(limit, saidOnce, search);
      span.set({ "rkat.search.results": hits.length });
      return await withSources(hits, sessions, options);
    },
  );
}
