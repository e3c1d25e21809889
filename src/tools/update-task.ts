import { z } from "zod";
import { type ErrorCode, SessionError } from "../core/errors.ts";
import { parseRequest } from "../core/operations/operation.ts";
import { taskChange } from "../core/operations/working-memory.ts";
import { renderTask, type TaskChange, type TaskRecord } from "../core/task.ts";
import { defineTool, type Tool, ToolError } from "../core/tool.ts";

/** The limits are checked below. In this schema they would cost tokens in every call. */
const INPUT = z.strictObject({
  new_task: z.string().optional().describe("Goal of a new task; clears the record."),
  goal: z.string().optional(),
  add: z.array(z.string()).optional().describe("Sub-tasks."),
  done: z.array(z.number()).optional().describe("Numbers of sub-tasks."),
  drop: z.array(z.number()).optional(),
  notes: z
    .record(z.string(), z.string())
    .optional()
    .describe("By name; an empty text removes one."),
});

/** Lets the model keep its session's task record. Files named in tool calls are added without it. */
export function updateTaskTool(
  update: (sessionId: string, change: TaskChange) => Promise<TaskRecord>,
): Tool {
  return defineTool({
    name: "update_task",
    description:
      "Keep the task record of this session: goal, sub-tasks, notes. It stays word for word when older messages leave. Use it for work of several steps, and note what must not be lost: decisions, names, numbers. Without arguments it shows the record.",
    input: INPUT,
    async execute({ new_task: newTask, ...rest }, { sessionId }) {
      try {
        const change = parseRequest(z.strictObject(taskChange), { newTask, ...rest });
        return renderTask(await update(sessionId, change)) || "The task record is empty.";
      } catch (error) {
        if (!SessionError.is(error) || !REFUSALS.includes(error.code)) throw error;
        throw new ToolError("invalid_arguments", error.message, { cause: error });
      }
    },
  });
}

/** The model can correct these. */
const REFUSALS: readonly ErrorCode[] = ["INVALID_PARAMS", "NOT_POSSIBLE"];
