import { SessionError } from "../core/errors.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import * as requests from "../core/requests.ts";
import type { Pins } from "../core/session-service.ts";
import type { SessionState } from "../core/session-state.ts";
import {
  changedTask,
  type TaskChange,
  type TaskRecord,
  type TaskView,
  taskDifference,
  taskView,
} from "../core/task.ts";
import type { LiveSessions } from "./live-sessions.ts";
import { pinnable, pinsView, pinTokens } from "./pins-view.ts";
import type { SessionWork } from "./session-work.ts";
import type { TurnSettings } from "./turn-settings.ts";

/** The operations of a service on a session's task record and pins. */
export class WorkingMemoryOperations {
  readonly #live: LiveSessions;
  readonly #work: SessionWork;
  readonly #settings: TurnSettings;

  constructor(live: LiveSessions, work: SessionWork, settings: TurnSettings) {
    this.#live = live;
    this.#work = work;
    this.#settings = settings;
  }

  async updateTask(request: requests.UpdateTask): Promise<TaskView> {
    const { sessionId, ...change } = requests.parseRequest(requests.updateTask, request);
    return taskView(await this.changeTask(sessionId, change, "user"));
  }

  /** Also called by the model's tool `update_task`. */
  async changeTask(
    sessionId: string,
    change: TaskChange,
    by: "agent" | "user",
  ): Promise<TaskRecord> {
    const before = (await this.#live.open(sessionId)).state;
    if (Object.keys(change).length === 0) return before.working.task;
    const { taskBytesMax } = await this.#settings.window(before.settings);
    const state = await this.#work.change(sessionId, ({ working }) => {
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
    const state = await this.#work.change(sessionId, (state) => {
      const { id } = pinnable(entryAt(state, which));
      if (state.working.isPinned(id)) return [];
      requireRoom(state, id, tokensMax);
      return [{ type: "message_pinned", message: id }];
    });
    return pinsView(state, tokensMax);
  }

  async unpin(request: requests.MessageRequest): Promise<Pins> {
    const { sessionId, ...which } = requests.parseRequest(requests.messageRequest, request);
    const state = await this.#work.change(sessionId, (state) => {
      const { id } = entryAt(state, which);
      return state.working.isPinned(id) ? [{ type: "message_unpinned", message: id }] : [];
    });
    return pinsView(state, await this.#tokensMax(sessionId));
  }

  async pins(request: requests.SessionRequest): Promise<Pins> {
    const { sessionId } = requests.parseRequest(requests.sessionRequest, request);
    const { state } = await this.#live.open(sessionId);
    return pinsView(state, await this.#tokensMax(sessionId));
  }

  async #tokensMax(sessionId: string): Promise<number> {
    const { state } = await this.#live.open(sessionId);
    return (await this.#settings.window(state.settings)).pinTokensMax;
  }
}

/** @throws SessionError `PIN_BUDGET_EXCEEDED`: a compaction never touches pins, so they must leave it room. */
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
