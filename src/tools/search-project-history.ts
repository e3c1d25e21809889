import { z } from "zod";
import type { HistoryHit } from "../core/event-store.ts";
import type { SearchHistory } from "../core/requests.ts";
import { defineTool, type Tool } from "../core/tool.ts";
import { saidBy } from "./said-by.ts";

const LIMIT_DEFAULT = 5;
const LIMIT_MAX = 20;

/** Searches the complete logs of this project's sessions, including tool output and pruned text. */
export function searchProjectHistoryTool(
  search: (request: SearchHistory) => Promise<readonly HistoryHit[]>,
): Tool {
  return defineTool({
    name: "search_project_history",
    description:
      "Search the complete logs of this project's sessions by words: prompts, answers, tool calls and tool results, whether they are still in your context or not. Use it for exact words, file contents and command output; it also has tool output that was pruned.",
    input: z.object({
      query: z.string().min(1).describe("Words to look for; results contain some or all of them."),
      limit: z.int().min(0).nullish().describe("Results at the most. Default 5, at most 20."),
      session_id: z.string().nullish().describe("Only this session."),
      from_turn: z
        .int()
        .min(0)
        .nullish()
        .describe("Only this turn and later ones; the first is 0."),
      to_turn: z.int().min(0).nullish().describe("Only this turn and earlier ones."),
      since: z.string().nullish().describe("Only from this day or time on, ISO 8601."),
      until: z
        .string()
        .nullish()
        .describe("Only up to this time, ISO 8601. A day includes all of it."),
    }),
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
