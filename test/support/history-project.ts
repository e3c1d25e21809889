import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { DurableEvent } from "../../src/core/event.ts";
import type { HistoryEntry } from "../../src/core/history-entry.ts";
import type { Message } from "../../src/core/message.ts";
import { HistoryChanges } from "../../src/core/session-history.ts";
import { SessionState } from "../../src/core/session-state.ts";
import { createSessionService, type ServiceOptions } from "../../src/index.ts";
import { historyBefore } from "../../src/session/history-views.ts";
import { changesIn } from "../../src/session/log-index.ts";
import { type Stores, sqliteStores } from "../../src/sqlite.ts";
import { type ScriptedReply, scriptedModel } from "../../src/testing.ts";
import { temporaryFolder } from "./obey.ts";

export const FILLER =
  "The harbour was quiet, and the tide came in as it does each evening. ".repeat(30);

const COMPACTION = {
  autoCompactThreshold: 40_000,
  minTurnsBetweenCompactions: 1,
  recentTurnBudget: 1,
  userWordsTokens: 0,
  summarizer: scriptedModel(() => "The harbour was quiet in the evening, and the tide came in."),
} as const;

/** The history before each of its changes is, message for message, what a fold of the log up to there gives, and the change says so. */
export async function expectEarlierHistories({ events }: Stores, sessionId: string): Promise<void> {
  const read = (after: number, to?: number) => events.read(sessionId, after, to);
  const toSeq = await events.lastSeq(sessionId);
  const changes = await changesIn(events, { sessionId, afterSeq: 0, toSeq });
  const fold = new HistoryChanges();
  for (const stored of changes) fold.note(stored);
  const told = ({ entries }: { readonly entries: readonly HistoryEntry[] }) =>
    entries.map(({ ordinal, ...entry }) => ({ ...entry, isSummary: ordinal < 0 }));
  for (const change of [...changes, { seq: toSeq + 1 }]) {
    const { seq } = change;
    const folded = await SessionState.fold(sessionId, read, seq - 1);
    if ("event" in change && isOfHistory(change.event)) {
      expect(change.event.before).toEqual(folded.before);
    }
    const { model } = folded.settings;
    const found = await historyBefore(events, { sessionId, model, seq, changes, fold });
    expect(told(found)).toEqual(told({ entries: folded.history }));
  }
}

function isOfHistory(event: DurableEvent) {
  return event.type === "compaction_completed" || event.type === "tool_output_pruned";
}

/** A service over a project's stores, and what its model would be sent next. */
export async function openProject(
  options: Partial<ServiceOptions> = {},
  at?: string,
  next: (call: number) => ScriptedReply = () => "Noted.",
) {
  const path = join(at ?? (await temporaryFolder()), "rkat.db");
  const stores: Stores = sqliteStores({ path });
  const model = scriptedModel((_, call) => next(call));
  const service = createSessionService({
    model,
    stores,
    knowledge: false,
    compaction: COMPACTION,
    ...options,
  });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  const say = async (sessionId: string, prompt: string): Promise<readonly Message[]> => {
    await service.startTurn({ sessionId, prompt });
    return model.requests.at(-1)?.messages ?? [];
  };
  /** What the model would be sent now: a turn in a copy of the store, which changes nothing here. */
  const nextRequest = async (sessionId: string) => {
    const read = (after: number, to?: number) => stores.events.read(sessionId, after, to);
    const snapshot = await stores.sessions.load(sessionId);
    const folded = await SessionState.fold(sessionId, read);
    const restored = snapshot ? await SessionState.restore(snapshot, read) : folded;
    expect(restored.sentMessages).toEqual(folded.sentMessages);
    expect(restored.historyTokens).toBe(folded.historyTokens);
    expect(restored.snapshot()).toEqual(folded.snapshot());
    return JSON.stringify(folded.sentMessages);
  };
  return { service, stores, model, say, nextRequest };
}
