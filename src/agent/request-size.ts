import { countLooseMessages, roomWithin } from "../compaction/measure-history.ts";
import type { CompactionContext, EngineCompactor } from "../core/compactor.ts";
import type { LanguageModel } from "../core/language-model.ts";
import { isSummary, type Message } from "../core/message.ts";
import type { SessionState } from "../core/session-state.ts";
import { estimateTokens } from "../core/tokens.ts";
import {
  type RecallRoom,
  reservedForRecords,
  recallRoom as roomForRecords,
} from "../recall/recall-room.ts";
import type { ToolSet } from "./tool-set.ts";

type Sized = Pick<LanguageModel, "id" | "contextWindow">;

/** Estimated tokens of the next request: the history, the task record, what was recalled or brought back, and the tools. */
export function requestTokens(state: SessionState, tools: ToolSet): number {
  return state.historyTokens + state.shownTokens + tools.tokens;
}

/** How a history is kept short, as far as sizes go. */
export interface Compacting {
  readonly compactor: Pick<EngineCompactor, "config">;
  /** Tokens that records of memory may take before a prompt. Missing when nothing comes back by itself. */
  readonly recallTokens?: number;
}

/** The figures by which a compactor decides whether a compaction is due. */
export function compactionContext(
  state: SessionState,
  compaction: Compacting,
  model: Sized,
  tools: ToolSet,
): CompactionContext {
  const { config } = compaction.compactor;
  const { contextWindow } = model;
  // The next call of a turn brings no records, so no compaction is due for their sake.
  const isWithinTurn = state.messages.at(-1)?.role === "tool_results";
  const reserved = isWithinTurn
    ? 0
    : Math.max(0, reservedFor(state, compaction) - state.recalled.tokens);
  return {
    lastInputTokens: state.lastInputTokens,
    messageCount: state.history.length,
    estimatedHistoryTokens: expectedTokens(state, model, tools) + reserved,
    lastCompactionTurn: state.lastCompactionCall,
    currentTurn: state.modelCalls,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(config.windowSize === undefined
      ? {}
      : { looseMessages: countLooseMessages(state.messages, state.pinnedPositions) }),
  };
}

/** A model that has counted is believed, tools included; until then the history speaks for itself. */
function expectedTokens(state: SessionState, { id }: Sized, tools: ToolSet): number {
  return state.counts.knows(id)
    ? state.counts.expected(id, requestTokens(state, tools))
    : state.historyTokens + state.shownTokens;
}

/** The room for records before a prompt, in which no compaction is due because of them. `added` are messages that the log will have. */
export function recallRoom(
  { log: { state }, compaction, model, tools }: Recalling,
  added: readonly Message[],
): RecallRoom {
  const all = Number.POSITIVE_INFINITY;
  if (!compaction) return { beside: all, instead: all };
  const more = added.length === 0 ? 0 : estimateTokens(added, state.settings.model);
  const estimated = requestTokens(state, tools) + more;
  return roomForRecords({
    threshold: compaction.compactor.config.autoCompactThreshold,
    expected: Math.max(state.counts.expected(model.id, estimated), state.lastInputTokens + more),
    recalled: state.recalled.tokens,
  });
}

/** Tokens that a compaction leaves free for the records before the next prompt. */
function reservedFor(state: SessionState, { compactor, recallTokens = 0 }: Compacting): number {
  if (state.compactions === 0 || recallTokens === 0) return 0;
  const summary = state.history.find(({ message }) => isSummary(message));
  if (!summary) return 0;
  const threshold = compactor.config.autoCompactThreshold;
  return reservedForRecords({ threshold, recallTokens, summaryTokens: summary.weight / 4 });
}

interface Recalling {
  readonly log: { readonly state: SessionState };
  readonly compaction?: Compacting;
  readonly model: Sized;
  readonly tools: ToolSet;
}

/** The limits that a compaction has to end below, in estimated tokens. */
export interface HistoryRoom {
  /** The limit of the history alone. */
  readonly targetTokens: number;
  /** The limit of a whole request, if it is known. */
  readonly contextWindow?: number;
  /** The next request does not fit the window. */
  readonly outgrown: boolean;
}

/**
 * The room for a history: the threshold in tokens as they are estimated, less
 * what the tools, the task record and records of memory take in each call.
 *
 *     threshold 100 000, counted 120 000 for 60 000 estimated    50 000
 *     less 5 000 for tools and task                              45 000
 *     counted 230 000 for 1 000 estimated: 229 000 are fixed     25 000, a quarter, at least
 */
export function historyRoom(
  state: SessionState,
  compaction: Compacting,
  { id, contextWindow }: Sized,
  tools: ToolSet,
): HistoryRoom {
  const estimated = requestTokens(state, tools);
  const expected = Math.max(state.counts.expected(id, estimated), state.lastInputTokens);
  const factor = Math.max(1, state.counts.factor(id));
  const count = { factor, unseen: Math.max(0, expected - factor * estimated) };
  const reserved = reservedFor(state, compaction);
  const kept = state.working.taskTokens + state.broughtBack.pinnedTokens;
  const fixed = tools.tokens + kept + reserved;
  const threshold = compaction.compactor.config.autoCompactThreshold;
  const within = Math.floor(roomWithin(threshold, count) - fixed);
  // At first the count may be one of the text. What a first compaction did not take away is beside the history.
  const mayBeText = state.lastCompactionCall === undefined && expected >= threshold;
  const most = mayBeText && count.unseen > 0 ? Math.min(within, state.historyTokens / 2) : within;
  const targetTokens = Math.max(1, Math.floor(most));
  if (contextWindow === undefined) return { targetTokens, outgrown: false };
  const window = Math.max(1, Math.floor(roomWithin(contextWindow, count)));
  return { targetTokens, contextWindow: window, outgrown: expected >= contextWindow };
}
