import { compactionContext, requestTokens } from "../agent/request-size.ts";
import type { ToolSet } from "../agent/tool-set.ts";
import { countLooseMessages } from "../compaction/measure-history.ts";
import type { SessionState } from "../core/session-state.ts";
import type { SessionWindow } from "./turn-settings.ts";

/** The size of the next request, and how much of it is too much. */
export interface Room {
  /** What a compaction counts: as the provider does, and with room for records of memory. */
  readonly usedTokens: number;
  readonly tokensMax: number | undefined;
  readonly tokensOver: number;
  readonly messagesMax: number | undefined;
  readonly messagesOver: number;
}

/** Whether the next call would compact at once, or not fit the window. It may get `more` estimated tokens. */
export function roomFor(
  state: SessionState,
  tools: ToolSet,
  { compaction, contextWindow }: SessionWindow,
  more = 0,
): Room {
  const model = { id: state.settings.model, ...(contextWindow ? { contextWindow } : {}) };
  const now = compaction
    ? compactionContext(state, compaction, model, tools).estimatedHistoryTokens
    : requestTokens(state, tools);
  const usedTokens = now + more * Math.max(1, state.counts.factor(model.id));
  const { autoCompactThreshold = Infinity, windowSize } = compaction?.compactor.config ?? {};
  const tokensMax = Math.min(autoCompactThreshold, contextWindow ?? Infinity);
  const messagesMax = windowSize === undefined ? undefined : 2 * windowSize - 1;
  const messages = countLooseMessages(state.messages, state.pinnedPositions);
  return {
    usedTokens: Math.ceil(usedTokens),
    tokensMax: tokensMax === Infinity ? undefined : tokensMax,
    tokensOver: tokensMax === Infinity ? 0 : Math.max(0, Math.ceil(usedTokens) - tokensMax + 1),
    messagesMax,
    messagesOver: messagesMax === undefined ? 0 : Math.max(0, messages - messagesMax),
  };
}
