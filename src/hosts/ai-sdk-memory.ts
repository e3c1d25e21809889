import type { SessionService } from "../core/session-service.ts";
import { type Tool, ToolError } from "../core/tool.ts";
import { memorySearchTool, searchProjectHistoryTool } from "../tools/memory-search.ts";

/** A tool for `generateText`, `streamText` and `ToolLoopAgent`. */
export interface AiSdkTool {
  readonly description: string;
  readonly inputSchema: never;
  execute(
    input: unknown,
    options: { toolCallId: string; abortSignal?: AbortSignal },
  ): Promise<string>;
}

export type MemoryTools = Readonly<Record<"memory_search" | "search_project_history", AiSdkTool>>;

/** rkat's own tools for memory and logs, as tools of the AI SDK. */
export function memoryToolsOf(
  service: Pick<SessionService, "searchMemory" | "searchHistory">,
): MemoryTools {
  const memory = memorySearchTool(({ queries, limit }) =>
    service.searchMemory({ query: [...queries], limit }),
  );
  const history = searchProjectHistoryTool((request) => service.searchHistory(request));
  return { memory_search: asAiSdkTool(memory), search_project_history: asAiSdkTool(history) };
}

/** The AI SDK's mark of a JSON Schema that it did not make itself. */
const SCHEMA = Symbol.for("vercel.ai.schema");

function asAiSdkTool({ definition, execute }: Tool): AiSdkTool {
  const { description, input_schema: jsonSchema } = definition;
  const schema = { [SCHEMA]: true, jsonSchema, validate: undefined };
  return {
    description,
    // `never` fits the schema type of each version of the AI SDK.
    inputSchema: schema as never,
    async execute(input, { toolCallId, abortSignal = new AbortController().signal }) {
      const context = { sessionId: "", toolUseId: toolCallId, signal: abortSignal };
      const result = await execute(input, context).catch(toldError);
      return typeof result === "string" ? result : result.content;
    },
  };
}

/** The model reads the problem with its arguments. */
function toldError(error: unknown): string {
  if (!(error instanceof ToolError)) throw error;
  return JSON.stringify({ error: error.code, message: error.message });
}
