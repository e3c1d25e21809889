import { joinedWith } from "../compaction/measure-history.ts";
import { SessionError } from "../core/errors.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import {
  contentText,
  indexableText,
  isSummary,
  type Message,
  toolResults,
  toolUses,
} from "../core/message.ts";
import type {
  PinnedMessage,
  Pins,
  WorkingMemoryOperations,
} from "../core/operations/working-memory.ts";
import type { SessionState } from "../core/session-state.ts";
import {
  changedTask,
  type TaskChange,
  type TaskRecord,
  taskDifference,
  taskView,
} from "../core/task.ts";
import { headWithin } from "../core/tokens.ts";
import type { Part } from "./checked-operations.ts";
import { contextView, recalledBefore } from "./context-view.ts";
import type { ServiceCore, ToolsOf } from "./service-core.ts";

/** Changes a session's task record and pins, and says what fills its context window. */
export function workingMemoryOperations(
  core: ServiceCore,
  toolsOf: ToolsOf,
): Part<keyof WorkingMemoryOperations> {
  const { live, work, settings } = core;

  async function tokensMax(sessionId: string): Promise<number> {
    const { state } = await live.open(sessionId);
    return (await settings.window(state.settings)).pinTokensMax;
  }

  return {
    updateTask: async ({ sessionId, ...change }) =>
      taskView(await changeTask(core, sessionId, change, "user")),
    async pin({ sessionId, ...which }) {
      const max = await tokensMax(sessionId);
      const state = await work.change(sessionId, (state) => {
        const { id } = pinnable(entryAt(state, which));
        if (state.working.isPinned(id)) return [];
        requireRoom(state, id, max);
        return [{ type: "message_pinned", message: id }];
      });
      return pinsView(state, max);
    },
    async unpin({ sessionId, ...which }) {
      const state = await work.change(sessionId, (state) => {
        const brought = state.broughtBack.shown.find(({ message }) => message === which.message);
        const isShown = brought?.pinned && !state.history.some(({ id }) => id === brought.message);
        if (isShown) return [{ type: "message_unpinned", message: brought.message }];
        const { id } = entryAt(state, which);
        return state.working.isPinned(id) ? [{ type: "message_unpinned", message: id }] : [];
      });
      return pinsView(state, await tokensMax(sessionId));
    },
    async pins({ sessionId }) {
      const { state } = await live.open(sessionId);
      return pinsView(state, await tokensMax(sessionId));
    },
    async context({ sessionId }) {
      const { state } = await live.open(sessionId);
      const recalled = await recalledBefore(state, core.options.stores.events);
      const window = await settings.window(state.settings);
      return contextView(state, toolsOf(state.settings), window, recalled);
    },
  };
}

/** Changes a session's task record. Also called by the model's tool `update_task`. */
export async function changeTask(
  { live, work, settings }: ServiceCore,
  sessionId: string,
  change: TaskChange,
  by: "agent" | "user",
): Promise<TaskRecord> {
  const before = (await live.open(sessionId)).state;
  if (Object.keys(change).length === 0) return before.working.task;
  const { taskBytesMax } = await settings.window(before.settings);
  const state = await work.change(sessionId, ({ working }) => {
    const after = changedTask(working.task, change, taskBytesMax);
    const changed = taskDifference(working.task, after);
    const begins = change.newTask === undefined ? {} : ({ new_task: true } as const);
    if (Object.keys({ ...changed, ...begins }).length === 0) return [];
    return [{ type: "task_updated", changed, ...begins, by }];
  });
  return state.working.task;
}

/** @throws SessionError `PIN_BUDGET_EXCEEDED`: a compaction never touches pins, so they must leave it room. */
function requireRoom(state: SessionState, message: number, tokensMax: number): void {
  requirePinRoom(pinTokens(state, [message]), [message], tokensMax);
}

/** @throws SessionError `PIN_BUDGET_EXCEEDED` */
export function requirePinRoom(
  tokens: number,
  messages: readonly number[],
  tokensMax: number,
): void {
  if (tokens <= tokensMax) return;
  const which = messages.length === 1 ? "message" : "messages";
  throw new SessionError("PIN_BUDGET_EXCEEDED", {
    message: `With ${which} ${messages.join(", ")} the pins would take about ${tokens} tokens, ${tokens - tokensMax} too many. The pin budget is ${tokensMax}.`,
  });
}

/** @throws SessionError `MESSAGE_NOT_IN_HISTORY`; its hint says how to find a removed message. */
function entryAt(
  { id, seq, history }: SessionState,
  { message, position }: { readonly message?: number; readonly position?: number },
): HistoryEntry {
  const entry =
    position === undefined ? history.find((each) => each.id === message) : history[position];
  if (entry) return entry;
  if (position !== undefined || (message ?? 0) > seq) {
    throw new SessionError("MESSAGE_NOT_IN_HISTORY", {
      message: `${position === undefined ? `Message ${message}` : `Position ${position}`} is not in the history. It has ${history.length} messages; the first is at position 0.`,
    });
  }
  throw new SessionError("MESSAGE_NOT_IN_HISTORY", {
    message: `Message ${message} is not in the history. A compaction may have removed it.`,
    hint: `Search for its words: memory_search, search_project_history or \`rkat history search --session ${id}\`.`,
  });
}

/** UTF-8 bytes of each message in the list of pins. */
const SHOWN_BYTES = 200;

/** The pinned messages in the history of a session. */
function pinsView(state: SessionState, tokensMax: number): Pins {
  const pins = state.pinnedPositions.map((position): PinnedMessage => {
    const { id, message } = state.history[position] as HistoryEntry;
    return { message: id, position, role: roleOf(message), text: startOf(message) };
  });
  const again = state.broughtBack.shown.map(({ message, pinned = false }) => ({ message, pinned }));
  const broughtBack = again.length === 0 ? {} : { broughtBack: again };
  return { pins, tokens: pinTokens(state), tokensMax, ...broughtBack };
}

/** Estimated tokens of everything that pins keep, if `more` messages were pinned too. */
export function pinTokens(state: SessionState, more: readonly number[] = []): number {
  const pinned = state.history.flatMap(({ id }, index) =>
    state.working.isPinned(id) || more.includes(id) ? [index] : [],
  );
  const weight = [...joinedWith(state.messages, pinned)].reduce(
    (sum, index) => sum + (state.history[index]?.weight ?? 0) + 1,
    0,
  );
  return Math.ceil(weight / 4) + state.broughtBack.pinnedTokens;
}

/**
 * Returns the entry if it can be pinned.
 *
 * @throws SessionError `NOT_POSSIBLE`
 */
function pinnable(entry: HistoryEntry): HistoryEntry {
  if (entry.message.role === "system") {
    refuse("A system message needs no pin: every compaction keeps it as it is.");
  }
  if (isSummary(entry.message)) {
    refuse(
      "A summary cannot be pinned: the next compaction replaces it. Pin a message, or put what matters into the task record.",
    );
  }
  return entry;
}

function refuse(message: string): never {
  throw new SessionError("NOT_POSSIBLE", { message });
}

function roleOf({ role }: Message): PinnedMessage["role"] {
  if (role === "tool_results") return "tool";
  return role === "user" ? "user" : "assistant";
}

/** The start of a message, on one line. */
function startOf(message: Message): string {
  const calls = toolUses(message).map(({ name }) => `[calls ${name}]`);
  const results = toolResults(message).map(({ content }) => content);
  const said = message.role === "user" ? contentText(message.content) : indexableText(message);
  const line = [said, ...calls, ...results].join(" ").replace(/\s+/g, " ").trim();
  return headWithin(line, SHOWN_BYTES);
}
