import type { Recall } from "../agent/run-turn.ts";
import type { MemoryRecalled } from "../core/event.ts";
import type { MemoryEntry, MemoryFilter, MemoryHit, MemoryStore } from "../core/memory-store.ts";
import { contentText, isSummary } from "../core/message.ts";
import type { MeasuredBar } from "../core/recalled.ts";
import { type LoggedSource, OWN_AGENT } from "../core/session-source.ts";
import type { SessionState } from "../core/session-state.ts";
import { NO_TRACES } from "../core/traces.ts";
import { startsTurn } from "../core/turn.ts";
import {
  chooseRecords,
  pinnedNotes,
  pinnedRecords,
  type RecordChoice,
  recallSearch,
  withPinned,
} from "../recall/choose-records.ts";
import { shownBy } from "../recall/quoted-passage.ts";
import { BAR_LEAST, isStillTrue, measureBar, recallQuery } from "../recall/recall-bar.ts";
import { recallWithin } from "../recall/recall-room.ts";
import { memoryBar } from "./memory-bar.ts";
import type { ServiceCore } from "./service-core.ts";
import { memoryOf, recallTokensOf } from "./service-options.ts";

/** The compactions of each session after which memory was known to have all that left. */
const CAUGHT_UP = new WeakMap<SessionState, number>();

/**
 * Finds what memory has about a prompt, and only if it is sure of the best of it. `undefined` in a session that has no
 * memory, and in a service that recalls nothing.
 *
 *     pinned           what a person wants each session to begin with, asked for or not
 *     this session     what a compaction took out of the window
 *     its origins      if it is a fork: what had left the windows of the sessions that it goes on from
 *     other sessions   if the service recalls from the project, and this one has nothing sure
 */
export function recallOf(core: ServiceCore, state: SessionState): Recall | undefined {
  const memory = memoryOf(core.options);
  const recallTokens = recallTokensOf(core.options, state.settings);
  const { tracer = NO_TRACES } = core.options;
  if (!memory || recallTokens === 0) return undefined;
  return async (prompt, room) => {
    if (Math.max(room.beside, room.instead) <= 0) return undefined;
    const origins =
      (await core.outages.attempt(originsOf, () => originsOf(core, state, memory))) ?? [];
    const places = [
      // Before the first compaction the window shows all.
      ...(state.compactions > 0 ? [ownSession(state, memory)] : []),
      ...origins,
      ...(core.options.recallFrom === "project" ? [otherSessions(core, state, memory)] : []),
    ];
    const query = places.length === 0 ? "" : queryOf(state, prompt);
    const search = searchedOnce(memory, query);
    const choose = async (tokensMax: number, leaving?: "shown leave") => {
      const pinned = await pinnedOf(core, state, memory, { tokensMax, leaving });
      if (query === "") return pinned;
      const left = tokensMax - (pinned?.tokens ?? 0);
      const asked = { query, tokensMax: left, sessionId: state.id, leaving };
      // A turn goes on without memory.
      const sure = await core.outages.attempt(memory, () => recall(places, asked, search));
      return withPinned(pinned, sure);
    };
    if (query === "") return await recallWithin(room, recallTokens, choose);
    await catchUp(core, state);
    return await tracer.span({ operation: "rkat.recall", sessionId: state.id }, async (span) => {
      const records = await recallWithin(room, recallTokens, choose);
      const fields = { "rkat.recall.records": records?.records.length ?? 0 };
      span.set({ ...fields, "rkat.recall.tokens": records?.tokens ?? 0 });
      return records;
    });
  };
}

/** The compactions of each session after which its pinned notes were looked for. */
const PINS_ASKED = new WeakMap<SessionState, number>();

/** The notes that a person pinned: once at the beginning, once after each compaction, and when what is shown leaves. */
async function pinnedOf(
  { outages }: ServiceCore,
  state: SessionState,
  memory: MemoryStore,
  { tokensMax, leaving }: Pick<Asked, "tokensMax" | "leaving">,
): Promise<MemoryRecalled | undefined> {
  const isKnown = state.recalled.shown.length > 0 || PINS_ASKED.get(state) === state.compactions;
  if (isKnown && !leaving) return undefined;
  const notes = await outages.attempt(memory, () => pinnedNotes(memory));
  if (notes) PINS_ASKED.set(state, state.compactions);
  // Most memories have no pinned note, and the window is not read for none.
  const isShown = once(() => shownBy(state.messages));
  const isNew = (entry: MemoryEntry) => !state.recalled.has(entry.id, leaving) && !isShown()(entry);
  return pinnedRecords(notes ?? [], { tokensMax, sessionId: state.id, isNew });
}

/** Where memory is asked. */
interface Place {
  readonly among: Pick<MemoryFilter, "sessionId" | "sessions">;
  /** The match that the best record needs, if it is known. */
  readonly knownBar: number | undefined;
  bar(): Promise<number>;
  isNew(entry: MemoryEntry, leaving?: "shown leave"): boolean;
}

/** The grounds on which records are chosen. Records that are shown may leave for them. */
interface Asked extends Pick<RecordChoice, "query" | "tokensMax" | "sessionId"> {
  readonly leaving: "shown leave" | undefined;
}

/** Memory is filled in the background. Recall needs only the messages that have left, so it waits for those alone. */
async function catchUp({ wait }: ServiceCore, state: SessionState): Promise<void> {
  const { compactions } = state;
  if (CAUGHT_UP.get(state) === compactions) return;
  if (await wait.isDone()) CAUGHT_UP.set(state, compactions);
}

/** The sure records of the first place that has any. */
async function recall(
  places: readonly Place[],
  { leaving, ...asked }: Asked,
  search: (place: Place) => Promise<readonly MemoryHit[]>,
): Promise<MemoryRecalled | undefined> {
  for (const place of places) {
    const hits = await search(place);
    if (hits.length === 0) continue;
    const isNew = (entry: MemoryEntry) => place.isNew(entry, leaving);
    const found = chooseRecords(hits, { ...asked, bar: await place.bar(), isNew });
    if (found) return found;
  }
  return undefined;
}

/** Asks memory about a prompt in each place, and keeps the answer while records are chosen for it. */
function searchedOnce(memory: Pick<MemoryStore, "search">, query: string) {
  const known = new Map<Place, readonly MemoryHit[]>();
  return async (place: Place): Promise<readonly MemoryHit[]> => {
    const { among, knownBar = BAR_LEAST } = place;
    const hits =
      known.get(place) ?? (await memory.search({ ...recallSearch(knownBar), ...among, query }));
    known.set(place, hits);
    return hits;
  };
}

function queryOf(state: SessionState, prompt: string): string {
  const before = promptBefore(state, prompt);
  return recallQuery({ prompt, before, goal: state.working.task.goal });
}

function ownSession(state: SessionState, memory: Pick<MemoryStore, "list" | "search">): Place {
  const known = knownBar(state);
  return {
    among: { sessionId: state.id },
    knownBar: known,
    bar: async () => known ?? (await barOf(state, memory)),
    isNew: unseenBy(state),
  };
}

/** The sessions that a fork goes on from, each up to there. What its window had is in the fork too. */
async function originsOf(
  core: ServiceCore,
  state: SessionState,
  memory: MemoryStore,
): Promise<readonly Place[]> {
  const { sessions } = core.options.stores;
  const ends = new Map<string, number>();
  for (
    let source: LoggedSource | undefined = state.settings.source;
    source?.agent === OWN_AGENT && source.parent?.relation === "fork";
  ) {
    const { id, event = 0 } = source.parent;
    // The log of another program may say that two sessions go on from each other.
    if (id === state.id || ends.has(id)) break;
    ends.set(id, event);
    source = (await sessions.sources([id])).get(id);
  }
  if (ends.size === 0) return [];
  const place = elsewhere(core, state, memory);
  return [
    {
      ...place,
      among: { sessions: { only: [...ends.keys()] } },
      isNew: (entry, leaving) =>
        (entry.source?.to ?? Infinity) <= (ends.get(entry.sessionId) ?? 0) &&
        place.isNew(entry, leaving),
    },
  ];
}

function otherSessions(core: ServiceCore, state: SessionState, memory: MemoryStore): Place {
  return { among: { sessions: { except: [state.id] } }, ...elsewhere(core, state, memory) };
}

function elsewhere(
  core: ServiceCore,
  state: SessionState,
  memory: MemoryStore,
): Omit<Place, "among"> {
  // A fork has the same messages as the session that it began with.
  const isShown = once(() => shownBy(state.messages));
  return {
    knownBar: undefined,
    bar: () => memoryBar(memory, core.options.stores?.events),
    isNew: (entry, leaving) => !state.recalled.has(entry.id, leaving) && !isShown()(entry),
  };
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

/** Tells whether neither the history nor a record that stays shows an entry, nor a summary quotes it. */
function unseenBy(state: SessionState) {
  const { recalled, broughtBack } = state;
  const isShown = ({ id, sessionId }: MemoryEntry) => {
    const message = sessionId === state.id ? Number(id.slice(sessionId.length + 1)) : Number.NaN;
    return state.holds(message) || broughtBack.has(message);
  };
  // Most prompts find nothing that is sure, and nothing has to be compared.
  const isQuoted = once(() => shownBy(state.messages.filter(isSummary)));
  return (entry: MemoryEntry, leaving?: "shown leave"): boolean =>
    !isShown(entry) && !recalled.has(entry.id, leaving) && !isQuoted()(entry);
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
