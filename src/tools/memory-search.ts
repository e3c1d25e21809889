import { z } from "zod";
import type { MemoryHit } from "../core/memory-store.ts";
import { defineTool, type Tool } from "../core/tool.ts";
import { withinTokens } from "../core/within-tokens.ts";
import { saidBy } from "./said-by.ts";

const LIMIT_DEFAULT = 5;
const LIMIT_MAX = 20;
/** Tokens of one result's text. A model that wants more asks `search_project_history`. */
const RESULT_TOKENS_MAX = 2_000;
/** Tokens of all texts together, so that memory does not crowd out the conversation. */
const TOKENS_DEFAULT = 4_000;
const TOKENS_MAX = 16_000;

/** Finds what the session's window does not show. */
export type SearchForModel = (
  request: { readonly query: string; readonly limit: number },
  sessionId: string,
) => Promise<readonly MemoryHit[]>;

/** The specification's `memory_search`: finds what compaction removed, by its meaning. */
export function memorySearchTool(search: SearchForModel): Tool {
  return defineTool({
    name: "memory_search",
    description:
      "Search semantic memory for past conversation content. Memory contains text from earlier conversation turns that were compacted away to save context space.",
    input: z.object({
      query: z
        .string()
        .describe("Natural language search query describing what you want to recall."),
      limit: z
        .int()
        .min(0)
        .nullish()
        .describe("Maximum number of results to return. Default 5, at most 20."),
      max_tokens: z
        .int()
        .positive()
        .nullish()
        .describe(
          "Tokens that the texts of all results may take together; the best come first. Default 4000, at most 16000.",
        ),
    }),
    async execute({ query, limit, max_tokens }, { sessionId }) {
      const most = Math.min(limit ?? LIMIT_DEFAULT, LIMIT_MAX);
      const hits = await search({ query, limit: most }, sessionId);
      const tokens = Math.min(max_tokens ?? TOKENS_DEFAULT, TOKENS_MAX);
      return withinTokens(hits, tokens, RESULT_TOKENS_MAX).map(specifiedResult);
    },
  });
}

/** A hit as the specification's JSON shows it, and who said it. */
function specifiedResult(hit: MemoryHit) {
  return {
    content: hit.content,
    score: Math.round(hit.score * 1000) / 1000,
    session_id: hit.sessionId,
    turn: hit.turn,
    said_by: saidBy(hit),
  };
}
