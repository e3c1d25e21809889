import { isObject } from "../core/fields.ts";
import { toolResults, toolUses } from "../core/message.ts";
import type { HandoffSource, Quote } from "./handoff-source.ts";

/** An item of a plan, in the words of the agent that made it. */
interface Task {
  readonly text: string;
  readonly isOpen: boolean;
  readonly at: number;
}

/** Tools that write the whole plan at once. */
const PLAN_TOOLS = /^(?:todo_?write|write_todos?|update_plan|todowrite)$/i;

/**
 * The tasks that were still open at the end: those of the task record, or of the last plan that a tool
 * wrote. Claude Code's `TaskCreate` and `TaskUpdate` change one task at a time.
 */
export function openTasks({ messages, task }: HandoffSource): readonly Quote[] {
  if (task && task.open.length > 0) {
    return task.open.map((text) => ({ at: task.at, by: "assistant", text }));
  }
  let plan = new Map<string, Task>();
  const creating = new Map<string, string>();
  for (const { at, message } of messages) {
    for (const { id, name, args } of toolUses(message)) {
      if (!isObject(args)) continue;
      if (PLAN_TOOLS.test(name)) {
        const tasks = itemsIn(args).map((item) => ({ ...item, at }));
        plan = new Map(tasks.map((item, index) => [`${index}`, item]));
      } else if (name === "TaskCreate" && typeof args.subject === "string") {
        creating.set(id, args.subject);
        plan.set(id, { text: args.subject, isOpen: true, at });
      } else if (name === "TaskUpdate") {
        const known = plan.get(`#${args.taskId}`);
        if (known && typeof args.status === "string") {
          plan.set(`#${args.taskId}`, { ...known, isOpen: isOpenStatus(args.status) });
        }
      }
    }
    for (const { tool_use_id, content } of toolResults(message)) {
      const created = plan.get(tool_use_id);
      const [, number] = /#(\d{1,9})\b/.exec(content) ?? [];
      if (!creating.delete(tool_use_id) || !created || number === undefined) continue;
      plan.delete(tool_use_id);
      plan.set(`#${number}`, created);
    }
  }
  return [...plan.values()]
    .filter(({ isOpen }) => isOpen)
    .map(({ text, at }) => ({ at, by: "assistant", text }));
}

/** The items of a plan, whatever the tool calls its fields. */
function itemsIn(args: Readonly<Record<string, unknown>>): readonly Omit<Task, "at">[] {
  const list = Object.values(args).find(Array.isArray) ?? [];
  return list.filter(isObject).flatMap((item) => {
    const text = [item.content, item.step, item.description, item.text].find(
      (value) => typeof value === "string",
    );
    const status = typeof item.status === "string" ? item.status : "";
    return typeof text === "string" && text.trim() !== ""
      ? [{ text, isOpen: isOpenStatus(status) && item.done !== true }]
      : [];
  });
}

function isOpenStatus(status: string): boolean {
  return !/^(?:completed|done|cancell?ed|deleted)$/.test(status);
}
