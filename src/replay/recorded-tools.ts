import type { Tool, ToolOutput } from "../core/tool.ts";

/** Tools that do nothing but give the results that were recorded. */
export function recordedTools(
  names: readonly string[],
  resultOf: (toolUseId: string) => ToolOutput | undefined,
): readonly Tool[] {
  return names.map((name) => ({
    definition: { name, description: "Recorded.", input_schema: { type: "object" } },
    execute: async (_args, { toolUseId }) =>
      resultOf(toolUseId) ?? { content: "The recording has no such call.", is_error: true },
  }));
}
