import { z } from "zod";
import type { MemoryHit, MemoryScope } from "../core/memory-store.ts";
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

const PHRASINGS_MAX = 5;

/** Finds what the session's window does not show. */
export type SearchForModel = (
  request: { readonly queries: readonly string[]; readonly limit: number },
  sessionId: string,
) => Promise<readonly MemoryHit[]>;

/** The specification's `memory_search`. It takes several phrasings of a question, because most memories compare words. */
export function memorySearchTool(search: SearchForModel, scope: MemoryScope = "all"): Tool {
  return defineTool({
    name: "memory_search",
    description: `Search semantic memory for past conversation content. Memory contains text from earlier conversation turns that were compacted away to save context space. ${scope === "all" ? "It also has what was said in other sessions. " : ""}It compares words; it compares meaning only if the project has an embedder.`,
    input: z.object({
      query: z
        .union([z.string(), z.array(z.string()).min(1).max(PHRASINGS_MAX)])
        .describe(
          'What you want to recall. Better than one question are 2 to 5 phrasings of it in an array, each with other words that may have been used: ["which port does staging use", "staging server address", "test environment listens on"].',
        ),
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
      const hits = await search({ queries: [query].flat(), limit: most }, sessionId);
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
    // Another agent's session: it may be of another project.
    ...(hit.from ? { agent: hit.from.agent } : {}),
  };
}
