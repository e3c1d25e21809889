import type { ContextView } from "../core/context-view.ts";
import { SessionError } from "../core/errors.ts";
import type { DurableEvent } from "../core/event.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import type { Pins } from "../core/pins.ts";
import * as requests from "../core/requests.ts";
import type { SessionState } from "../core/session-state.ts";
import {
  changedTask,
  type TaskChange,
  type TaskRecord,
  type TaskView,
  taskDifference,
  taskView,
} from "../core/task.ts";
import { contextView } from "./context-view.ts";
import type { LiveSession } from "./live-session.ts";
import { pinnable, pinsView, pinTokens } from "./pins-view.ts";
import type { TurnParts } from "./turn-parts.ts";

/** How the operations get at a session. */
interface SessionAccess {
  /** The session, up to date. */
  open(sessionId: string): Promise<LiveSession>;
  /** Adds to its log what `decide` makes of its state: between the steps of a turn that runs here, or while none does. */
  change(
    sessionId: string,
    decide: (state: SessionState) => readonly DurableEvent[],
  ): Promise<SessionState>;
}

/** What a person or a program does with a session's task record and pins, and how they see its window. */
export class WorkingMemoryOperations {
  readonly #sessions: SessionAccess;
  readonly #parts: TurnParts;

  constructor(sessions: SessionAccess, parts: TurnParts) {
    this.#sessions = sessions;
    this.#parts = parts;
  }

  async updateTask(request: requests.UpdateTask): Promise<TaskView> {
    const { sessionId, ...change } = requests.parseRequest(requests.updateTask, request);
    return taskView(await this.changeTask(sessionId, change, "user"));
  }

  /** What the model's own tool does. */
  async changeTask(
    sessionId: string,
    change: TaskChange,
    by: "agent" | "user",
  ): Promise<TaskRecord> {
    const before = (await this.#sessions.open(sessionId)).state;
    if (Object.keys(change).length === 0) return before.working.task;
    const { taskBytesMax } = await this.#parts.window(before.settings);
    const state = await this.#sessions.change(sessionId, ({ working }) => {
      const after = changedTask(working.task, change, taskBytesMax);
      const changed = taskDifference(working.task, after);
      const begins = change.newTask === undefined ? {} : ({ new_task: true } as const);
      if (Object.keys({ ...changed, ...begins }).length === 0) return [];
      return [{ type: "task_updated", changed, ...begins, by }];
    });
    return state.working.task;
  }

  async pin(request: requests.MessageRequest): Promise<Pins> {
    const { sessionId, ...which } = requests.parseRequest(requests.messageRequest, request);
    const tokensMax = await this.#tokensMax(sessionId);
    const state = await this.#sessions.change(sessionId, (state) => {
      const { id } = pinnable(entryAt(state, which));
      if (state.working.isPinned(id)) return [];
      requireRoom(state, id, tokensMax);
      return [{ type: "message_pinned", message: id }];
    });
    return pinsView(state, tokensMax);
  }

  async unpin(request: requests.MessageRequest): Promise<Pins> {
    const { sessionId, ...which } = requests.parseRequest(requests.messageRequest, request);
    const state = await this.#sessions.change(sessionId, (state) => {
      const { id } = entryAt(state, which);
      return state.working.isPinned(id) ? [{ type: "message_unpinned", message: id }] : [];
    });
    return pinsView(state, await this.#tokensMax(sessionId));
  }

  async pins(request: requests.SessionRequest): Promise<Pins> {
    const { sessionId } = requests.parseRequest(requests.sessionRequest, request);
    const { state } = await this.#sessions.open(sessionId);
    return pinsView(state, await this.#tokensMax(sessionId));
  }

  async context(request: requests.SessionRequest): Promise<ContextView> {
    const { sessionId } = requests.parseRequest(requests.sessionRequest, request);
    const { state } = await this.#sessions.open(sessionId);
    return contextView(state, await this.#parts.window(state.settings));
  }

  async #tokensMax(sessionId: string): Promise<number> {
    const { state } = await this.#sessions.open(sessionId);
    return (await this.#parts.window(state.settings)).pinTokensMax;
  }
}

/** Pins, which a compaction must not touch, have to leave it something to work with. */
function requireRoom(state: SessionState, message: number, tokensMax: number): void {
  const tokens = pinTokens(state, [message]);
  if (tokens <= tokensMax) return;
  throw new SessionError("PIN_BUDGET_EXCEEDED", {
    message: `With message ${message} the pins would take about ${tokens} tokens. The pin budget is ${tokensMax}.`,
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
