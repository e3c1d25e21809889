import type { Recall } from "../agent/run-turn.ts";
import type { MemoryRecalled } from "../core/event.ts";
import type { MemoryEntry, MemoryStore } from "../core/memory-store.ts";
import { contentText, isSummary } from "../core/message.ts";
import type { MeasuredBar } from "../core/recalled.ts";
import type { SessionState } from "../core/session-state.ts";
import { startsTurn } from "../core/turn.ts";
import { chooseRecords, RECALL_SEARCH } from "../recall/choose-records.ts";
import { BAR_LEAST, isStillTrue, measureBar } from "../recall/recall-bar.ts";
import { recallQuery } from "../recall/recall-query.ts";
import { shownBy } from "../recall/shown-entries.ts";
import type { ServiceCore } from "./service-core.ts";
import { memoryOf, recallTokensOf } from "./service-options.ts";

/** The compactions of each session after which memory was known to have all that left. */
const CAUGHT_UP = new WeakMap<SessionState, number>();

/**
 * Finds what memory has about a prompt: what a compaction took out of the window, and only if it is sure of the best of it.
 * `undefined` in a session that has no memory, and in a service that recalls nothing.
 *
 * It looks at this session only. What others said would be copied into this log, and outlive the deletion of theirs.
 */
export function recallOf(core: ServiceCore, state: SessionState): Recall | undefined {
  const memory = memoryOf(core.options);
  const recallTokens = recallTokensOf(core.options, state.settings);
  if (!memory || recallTokens === 0) return undefined;
  return async (prompt, { beside, instead }) => {
    const tokensMax = Math.min(recallTokens, Math.max(beside, instead));
    // Before the first compaction the window shows all.
    if (tokensMax <= 0 || state.compactions === 0) return undefined;
    await catchUp(core, state);
    // A turn goes on without memory.
    const found = await core.outages.attempt(memory, () =>
      recall(state, prompt, tokensMax, memory),
    );
    return found && found.tokens > beside ? { ...found, replaces: true } : found;
  };
}

/** What was said gets to memory in the background. Once it has all that left, it need not have the rest. */
async function catchUp({ outages, projected }: ServiceCore, state: SessionState): Promise<void> {
  const { compactions } = state;
  if (CAUGHT_UP.get(state) === compactions) return;
  await outages.attempt(projected, async () => {
    await projected();
    CAUGHT_UP.set(state, compactions);
  });
}

async function recall(
  state: SessionState,
  prompt: string,
  tokensMax: number,
  memory: Pick<MemoryStore, "list" | "search">,
): Promise<MemoryRecalled | undefined> {
  const before = promptBefore(state, prompt);
  const query = recallQuery({ prompt, before, goal: state.working.task.goal });
  if (query === "") return undefined;
  const sessionId = state.id;
  const about = { query, sessionId };
  const known = knownBar(state);
  const bestScore = known ?? BAR_LEAST;
  const hits = await memory.search({ ...RECALL_SEARCH, ...about, bestScore });
  if (hits.length === 0) return undefined;
  const bar = known ?? (await barOf(state, memory));
  return chooseRecords(hits, { ...about, bar, tokensMax, isNew: unseenBy(state) });
}

/** The bars that this process measured. The log has those that something was recalled with. */
const MEASURED = new WeakMap<SessionState, MeasuredBar>();

/** The score that the best record of a session needs, if it was measured when the session was not much shorter. */
function knownBar(state: SessionState): number | undefined {
  const bars = [MEASURED.get(state), state.recalled.bar];
  return bars.find((bar) => bar && isStillTrue(bar.seq, state.seq))?.score;
}

async function barOf(
  state: SessionState,
  memory: Pick<MemoryStore, "list" | "search">,
): Promise<number> {
  const score = await measureBar(memory, state.id);
  MEASURED.set(state, { score, seq: state.seq });
  return score;
}

function promptBefore({ messages }: SessionState, prompt: string): string | undefined {
  const before = messages.findLast(
    (message) =>
      startsTurn(message) && message.role === "user" && contentText(message.content) !== prompt,
  );
  return before?.role === "user" ? contentText(before.content) : undefined;
}

/** Tells whether neither the history nor a record shows an entry, nor a summary quotes it. */
function unseenBy({ id: session, history, recalled, broughtBack }: SessionState) {
  const ids = [...history.map(({ id }) => id), ...broughtBack.shown.map(({ message }) => message)];
  const shown = new Set(ids.map((id) => `${session}:${id}`));
  const isQuoted = shownBy(history.flatMap(({ message }) => (isSummary(message) ? [message] : [])));
  return (entry: Pick<MemoryEntry, "id" | "content">): boolean =>
    !shown.has(entry.id) && !recalled.has(entry.id) && !isQuoted(entry);
}
