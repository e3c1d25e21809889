import { compactionContext } from "../agent/request-size.ts";
import type { AgentCompaction } from "../agent/run-compaction.ts";
import type { ToolSet } from "../agent/tool-set.ts";
import { joinedWith } from "../compaction/measure-history.ts";
import { SessionError } from "../core/errors.ts";
import type { RecalledRecord } from "../core/event.ts";
import type { EventStore } from "../core/event-store.ts";
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
  ContextPart,
  ContextPartName,
  ContextView,
  NextCompaction,
  PinnedMessage,
  Pins,
  RecalledBefore,
  RecalledText,
  WorkingMemoryOperations,
} from "../core/operations/working-memory.ts";
import { shownRecords } from "../core/recalled.ts";
import type { SessionState } from "../core/session-state.ts";
import {
  changedTask,
  type TaskChange,
  type TaskRecord,
  taskDifference,
  taskView,
} from "../core/task.ts";
import { headWithin } from "../core/tokens.ts";
import { ADDENDUM_HEADING } from "../knowledge/knowledge-addendum.ts";
import { textWeight } from "../text/text-weight.ts";
import type { Part, ServiceCore, ToolsOf } from "./service-core.ts";
import type { SessionWindow } from "./turn-settings.ts";

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

export function refuse(message: string): never {
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

/** The parts of the session's next model call, in tokens. */
function contextView(
  state: SessionState,
  tools: ToolSet,
  { contextWindow, compaction }: SessionWindow,
  recalled: readonly RecalledBefore[],
): ContextView {
  const threshold = compaction?.compactor.config.autoCompactThreshold;
  const parts = [
    { name: "tool_definitions", tokens: tools.tokens, messages: 0 } as const,
    ...historyParts(state),
    {
      name: "task_record",
      tokens: state.working.shownTokens,
      messages: state.working.shown ? 1 : 0,
    } as const,
    {
      name: "recalled",
      tokens: state.recalled.tokens,
      messages: state.recalled.shown.length,
    } as const,
    {
      name: "brought_back",
      tokens: state.broughtBack.tokens,
      messages: state.broughtBack.shown.length,
    } as const,
  ];
  const usedTokens = parts.reduce((sum, { tokens }) => sum + tokens, 0);
  const room = contextWindow ?? threshold;
  return {
    sessionId: state.id,
    model: state.settings.model,
    contextWindow: contextWindow ?? null,
    threshold: threshold ?? null,
    parts,
    usedTokens,
    freeTokens: room === undefined ? null : Math.max(0, room - usedTokens),
    lastInputTokens: state.lastInputTokens,
    compaction: compaction ? nextCompaction(state, compaction, contextWindow, tools) : null,
    recalled,
  };
}

/** The records that came back from memory and are still sent. The state has their text, and the log why they came back. */
async function recalledBefore(
  { id: sessionId, recalled, history }: SessionState,
  events: Pick<EventStore, "read">,
): Promise<readonly RecalledBefore[]> {
  const found: RecalledBefore[] = [];
  for (const { before: message, ids, text } of recalled.shown) {
    const isShown = ({ id }: RecalledRecord) => ids.includes(id);
    for await (const { seq, event } of events.read(sessionId, message)) {
      if (event.type === "run_completed" || event.type === "run_failed") break;
      if (event.type === "history_inherited") {
        const { inherited } = history.find(({ id }) => id === message) ?? {};
        const records = shownRecords(text, ids, inherited?.session ?? null);
        found.push({ message, event: seq, bar: null, records });
        break;
      }
      if (event.type !== "memory_recalled" || !event.records.some(isShown)) continue;
      const records = event.records.filter(isShown).map(recalledText);
      found.push({ message, event: seq, bar: event.bar ?? null, records });
      break;
    }
  }
  return found;
}

function recalledText({ id, session, said_by, time, score, text }: RecalledRecord): RecalledText {
  return { id, session: session ?? null, saidBy: said_by, time: time ?? null, score, text };
}

/** Each message of the history is in one part. `knowledge` is the end of the system prompt. */
function historyParts(state: SessionState): ContextPart[] {
  const pinned = joinedWith(state.messages, state.pinnedPositions);
  const partOf = ({ message }: HistoryEntry, index: number): ContextPartName => {
    if (message.role === "system") return "system_prompt";
    if (isSummary(message)) return "summary";
    return pinned.has(index) ? "pins" : "turns";
  };
  const byName = Map.groupBy(
    state.history.map((entry, index) => ({ weight: entry.weight + 1, name: partOf(entry, index) })),
    ({ name }) => name,
  );
  const learned = state.messages.reduce((sum, message) => sum + learnedWeight(message), 0);
  return HISTORY_PARTS.map((name) => {
    const messages = byName.get(name) ?? [];
    const weight = messages.reduce((sum, message) => sum + message.weight, 0);
    const own = { system_prompt: weight - learned, knowledge: learned }[name as string] ?? weight;
    return { name, tokens: Math.ceil(own / 4), messages: messages.length };
  });
}

const HISTORY_PARTS: readonly ContextPartName[] = [
  "system_prompt",
  "knowledge",
  "summary",
  "pins",
  "turns",
];

/** Weight of the learned rules at the end of a system prompt. */
function learnedWeight(message: Message): number {
  if (message.role !== "system") return 0;
  const at = message.content.lastIndexOf(ADDENDUM_HEADING);
  return at < 0 ? 0 : textWeight(message.content.slice(at));
}

function nextCompaction(
  state: SessionState,
  compaction: AgentCompaction,
  contextWindow: number | undefined,
  tools: ToolSet,
): NextCompaction {
  const { compactor } = compaction;
  const { config } = compactor;
  const model = { id: state.settings.model, ...(contextWindow ? { contextWindow } : {}) };
  const now = compactionContext(state, compaction, model, tools);
  const tokens = Math.max(now.lastInputTokens, now.estimatedHistoryTokens);
  const firstCall = now.currentTurn === 0 ? 1 : 0;
  const guard =
    now.lastCompactionTurn === undefined
      ? 0
      : now.lastCompactionTurn + config.minTurnsBetweenCompactions - now.currentTurn;
  return {
    due: compactor.shouldCompact(now),
    tokensLeft: Math.max(0, config.autoCompactThreshold - tokens),
    messagesLeft:
      config.windowSize === undefined
        ? null
        : Math.max(0, 2 * config.windowSize - (now.looseMessages ?? 0)),
    callsLeft: Math.max(0, firstCall, guard),
  };
}
