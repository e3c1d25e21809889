import { compactionContext } from "../agent/request-size.ts";
import type { AgentCompaction } from "../agent/run-compaction.ts";
import type { ToolSet } from "../agent/tool-set.ts";
import { joinedWith } from "../compaction/measure-history.ts";
import type { RecalledRecord } from "../core/event.ts";
import type { EventStore } from "../core/event-store.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import { isSummary, type Message } from "../core/message.ts";
import type {
  ContextPart,
  ContextPartName,
  ContextView,
  NextCompaction,
  RecalledBefore,
  RecalledText,
} from "../core/operations/working-memory.ts";
import type { SessionState } from "../core/session-state.ts";
import { ADDENDUM_HEADING } from "../knowledge/knowledge-addendum.ts";
import { textWeight } from "../text/text-weight.ts";
import type { SessionWindow } from "./turn-settings.ts";

/** What the session's next model call consists of, in tokens. */
export function contextView(
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

/** What came back from memory and is still sent. The state has its text, and the log why it came back. */
export async function recalledBefore(
  { id: sessionId, recalled }: SessionState,
  events: Pick<EventStore, "read">,
): Promise<readonly RecalledBefore[]> {
  const found: RecalledBefore[] = [];
  for (const { before: message, ids } of recalled.shown) {
    const isShown = ({ id }: RecalledRecord) => ids.includes(id);
    for await (const { seq, event } of events.read(sessionId, message)) {
      if (event.type === "run_completed" || event.type === "run_failed") break;
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
