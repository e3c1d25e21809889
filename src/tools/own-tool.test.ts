import { expect, test } from "vitest";
import { z } from "zod";
import { NO_TASK } from "../core/task.ts";
import { datetimeTool } from "./datetime.ts";
import { memorySearchTool, searchProjectHistoryTool } from "./memory-search.ts";
import { ownTool } from "./own-tool.ts";
import { updateTaskTool } from "./update-task.ts";

const input = z.object({
  text: z.string(),
  limit: z.int().min(1).nullish().describe("Default 5."),
  since: z.string().nullish(),
  either: z.union([z.string(), z.int().min(2)]).nullish(),
});

test("an argument that is null counts as left out, and no schema says so in each request", async () => {
  const given: unknown[] = [];
  const tool = ownTool({
    name: "look",
    description: "Looks.",
    input,
    execute: (args) => void given.push(args),
  });
  expect(tool.definition.input_schema).toEqual({
    type: "object",
    properties: {
      text: { type: "string" },
      limit: { type: "integer", minimum: 1, description: "Default 5." },
      since: { type: "string" },
      either: { anyOf: [{ type: "string" }, { type: "integer", minimum: 2 }] },
    },
    required: ["text"],
  });
  const args = { text: "a", limit: null, since: null, either: null };
  await tool.execute(args, {
    sessionId: "s",
    toolUseId: "t",
    signal: AbortSignal.timeout(60_000),
  });
  expect(given).toEqual([args]);
});

test("what every session sends of its tools leaves a small window its room", () => {
  const tools = [
    memorySearchTool(async () => []),
    searchProjectHistoryTool(async () => []),
    updateTaskTool(async () => NO_TASK),
    datetimeTool(),
  ];
  const characters = tools.map(({ definition }) => JSON.stringify(definition).length);
  expect(characters.reduce((sum, each) => sum + each, 0)).toBeLessThan(2_800);
});
