import { isObject } from "../core/fields.ts";
import { jsonText } from "../core/json-values.ts";
import { indexableText, toolResults, toolUses } from "../core/message.ts";
import { filesOfCall } from "../core/working-memory.ts";
import { instructionsIn } from "../knowledge/lasting-wishes.ts";
import {
  type HandoffMessage,
  type HandoffSource,
  isTyped,
  type Quote,
  quotable,
} from "./handoff-source.ts";

/** The goal of the work: that of the task record, or the person's first request. */
export function goalOf({ messages, task }: HandoffSource): Quote | undefined {
  if (task && task.goal !== "") return { at: task.at, by: "user", text: task.goal };
  const first = messages.find((each) => isTyped(each) && indexableText(each.message).trim() !== "");
  return first && { at: first.at, by: "user", text: indexableText(first.message) };
}

/** Standing instructions, and refused calls with their reasons. The newest comes first. */
export function standingInstructions(messages: readonly HandoffMessage[]): readonly Quote[] {
  const found = messages.flatMap((each): readonly Quote[] => {
    const { at, message, denied = [] } = each;
    const own = isTyped(each) ? instructionsIn(quotable(indexableText(message))) : [];
    const refused = denied.flatMap(({ reason = "" }) => (reason.trim() === "" ? [] : [reason]));
    return [...own, ...refused].map((text) => ({ at, by: "user", text }));
  });
  return newestOfEach(found);
}

/** A sentence that states a choice or an exclusion. */
const DECISION =
  /\b(?:decided|decision|we(?:'ll|’ll| will)? (?:chose|choose|go with|use|keep|settle)|agreed|settled on|let(?:'|’)?s (?:use|go with|keep)|chose|ruled out|rejected|instead of|rather than|trade-?off)\b/iu;

const SENTENCE = { min: 15, max: 300 } as const;

/** Decisions, in the words of either side. The newest comes first. */
export function decisions(messages: readonly HandoffMessage[]): readonly Quote[] {
  const found = messages.flatMap((each): readonly Quote[] => {
    const { at, message } = each;
    const by = message.role === "user" ? "user" : "assistant";
    if (by === "user" && !isTyped(each)) return [];
    return sentencesIn(indexableText(message))
      .filter(({ length }) => length >= SENTENCE.min && length <= SENTENCE.max)
      .filter((sentence) => DECISION.test(sentence) && !sentence.endsWith("?"))
      .map((text) => ({ at, by, text }));
  });
  return newestOfEach(found);
}

function sentencesIn(text: string): readonly string[] {
  return text
    .split("\n")
    .filter((line) => !/^\s*[>|]/.test(line))
    .flatMap((line) => line.split(/(?<=[.!?])\s+/))
    .map((sentence) => sentence.trim());
}

/** The person's requests, except the first and the last. The newest comes first. */
export function requestsBetween(messages: readonly HandoffMessage[]): readonly Quote[] {
  const asked = messages.filter(isTyped).map(
    ({ at, message }): Quote => ({
      at,
      by: "user",
      text: indexableText(message),
    }),
  );
  return newestOfEach(asked.slice(1, -1).filter(({ text }) => text.trim() !== ""));
}

const CHANGES = /write|edit|patch|replace|create|insert|delete|move|rename/i;

/** The files that tools changed, then those that they only read. The newest of each comes first. */
export function filesOf(messages: readonly HandoffMessage[]): readonly Quote[] {
  const used = messages.flatMap(({ at, message }) =>
    toolUses(message).flatMap(({ name, args }) =>
      [...filesOfCall({ args }), ...patchedFiles(args)].map((text) => ({
        quote: { at, by: "assistant" as const, text },
        isChange: CHANGES.test(name) || patchedFiles(args).length > 0,
      })),
    ),
  );
  const quotes = (wanted: boolean) =>
    used.filter(({ isChange }) => isChange === wanted).map(({ quote }) => quote);
  const changed = newestOfEach(quotes(true));
  const names = new Set(changed.map(({ text }) => text));
  return [...changed, ...newestOfEach(quotes(false)).filter(({ text }) => !names.has(text))];
}

/** The files of a patch as Codex writes it: `*** Update File: src/server.ts`. */
function patchedFiles(args: unknown): readonly string[] {
  const text = typeof args === "string" ? args : jsonText(args ?? "");
  if (!text.includes("*** ")) return [];
  const found = text.matchAll(/\*\*\* (?:Update|Add|Delete) File: ([^"\\\n]{1,300})/g);
  return Array.from(found, ([, path = ""]) => path.trim());
}

/** Each text once, where it was said last. */
function newestOfEach(quotes: readonly Quote[]): readonly Quote[] {
  const found = new Map<string, Quote>();
  for (const quote of quotes.toReversed()) if (!found.has(quote.text)) found.set(quote.text, quote);
  return [...found.values()];
}

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
