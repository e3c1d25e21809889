import { z } from "zod";
import type { HistoryHit } from "../core/event-store.ts";
import { type MemoryHit, type MemoryScope, saidBy } from "../core/memory-store.ts";
import type { SearchHistory } from "../core/operations/memory.ts";
import { withinTokens } from "../core/tokens.ts";
import type { Tool } from "../core/tool.ts";
import { ownTool } from "./own-tool.ts";

const LIMIT_DEFAULT = 5;
const LIMIT_MAX = 20;
/** Tokens of one result's text. A model that wants more asks `search_project_history`. */
const RESULT_TOKENS_MAX = 2_000;
/** Tokens of all texts together, so that memory does not crowd out the conversation. */
const TOKENS_DEFAULT = 4_000;
const TOKENS_MAX = 16_000;

const PHRASINGS_MAX = 5;

const MEMORY_INPUT = z.object({
  query: z
    .union([z.string(), z.array(z.string()).min(1).max(PHRASINGS_MAX)])
    .describe(
      'Better than one question are 2 to 5 phrasings of it, each with other words that may have been used: ["which port does staging use", "staging server address"].',
    ),
  limit: z.int().min(0).nullish().describe("Default 5, at most 20."),
  max_tokens: z
    .int()
    .positive()
    .nullish()
    .describe("Of all results together. Default 4000, at most 16000."),
});

/** Searches for text that the session's window does not show. */
export type SearchForModel = (
  request: { readonly queries: readonly string[]; readonly limit: number },
  sessionId: string,
) => Promise<readonly MemoryHit[]>;

/** The specification's `memory_search`. It takes several phrasings of a question, because most memories compare words. */
export function memorySearchTool(search: SearchForModel, scope: MemoryScope = "all"): Tool {
  return ownTool({
    name: "memory_search",
    description: `Search semantic memory for past conversation content. Memory contains text from earlier conversation turns that were compacted away to save context space. ${scope === "all" ? "It also has what was said in other sessions. " : ""}It compares words, and meaning only if the project has an embedder.`,
    input: MEMORY_INPUT,
    async execute({ query, limit, max_tokens }, { sessionId }) {
      const most = Math.min(limit ?? LIMIT_DEFAULT, LIMIT_MAX);
      const hits = await search({ queries: [query].flat(), limit: most }, sessionId);
      const tokens = Math.min(max_tokens ?? TOKENS_DEFAULT, TOKENS_MAX);
      return withinTokens(hits, tokens, RESULT_TOKENS_MAX).map(specifiedResult);
    },
  });
}

/** A hit in the specification's JSON, with its author. */
function specifiedResult(hit: MemoryHit) {
  return {
    content: hit.content,
    score: Math.round(hit.score * 1000) / 1000,
    session_id: hit.sessionId,
    turn: hit.turn,
    said_by: saidBy(hit),
    // Another agent's session: it may be of another project.
    ...(hit.from ? { agent: hit.from.agent } : {}),
    ...(hit.didYouMean === undefined ? {} : { did_you_mean: hit.didYouMean }),
    ...(hit.replaces ? { replaces: hit.replaces.said } : {}),
    ...(hit.replacedBy ? { replaced_by: hit.replacedBy.said } : {}),
  };
}

const HISTORY_INPUT = z.object({
  query: z.string().min(1).describe("Results have some or all of these words."),
  limit: z.int().min(0).nullish().describe("Default 5, at most 20."),
  session_id: z.string().nullish().describe("Only this session."),
  from_turn: z.int().min(0).nullish().describe("The first is 0."),
  to_turn: z.int().min(0).nullish(),
  since: z.string().nullish().describe("A day or time, ISO 8601."),
  until: z.string().nullish().describe("A day includes all of it."),
});

/** Searches the complete logs of this project's sessions, including tool output and pruned text. */
export function searchProjectHistoryTool(
  search: (request: SearchHistory) => Promise<readonly HistoryHit[]>,
): Tool {
  return ownTool({
    name: "search_project_history",
    description:
      "Search the complete logs of this project's sessions by words: prompts, answers, calls and their results. Use it for exact words, file contents and command output; it also has output that was pruned, in the turn that its note names.",
    input: HISTORY_INPUT,
    async execute({ query, limit, session_id, from_turn, to_turn, since, until }) {
      const hits = await search({
        query,
        limit: Math.min(limit ?? LIMIT_DEFAULT, LIMIT_MAX),
        ...(session_id == null ? {} : { sessionId: session_id }),
        ...(from_turn == null ? {} : { fromTurn: from_turn }),
        ...(to_turn == null ? {} : { toTurn: to_turn }),
        ...(since == null ? {} : { since }),
        ...(until == null ? {} : { until }),
      });
      return hits.map((hit) => ({
        content: hit.content,
        session_id: hit.sessionId,
        turn: hit.turn,
        seq: hit.seq,
        said_by: saidBy(hit),
        time: hit.time,
      }));
    },
  });
}
