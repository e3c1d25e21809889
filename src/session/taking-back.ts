import { compactionContext, requestTokens } from "../agent/request-size.ts";
import type { ToolSet } from "../agent/tool-set.ts";
import { countLooseMessages, joinedWith } from "../compaction/measure-history.ts";
import { broughtTokens, shownTokens } from "../core/brought-back.ts";
import { SessionError } from "../core/errors.ts";
import {
  type BroughtMessage,
  type CompactionUndone,
  type MessagesBroughtBack,
  type StoredEvent,
  speakerOf,
} from "../core/event.ts";
import { given } from "../core/fields.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import { newId } from "../core/ids.ts";
import {
  type ContentBlock,
  isForgotten,
  type Message,
  toolResults,
  wordsOf,
} from "../core/message.ts";
import type { LoggedMessage } from "../core/message-assembler.ts";
import type { BroughtBackOutcome } from "../core/operations/bring-back.ts";
import type { UndoOutcome } from "../core/operations/history.ts";
import type { CheckedRequest } from "../core/operations.ts";
import { HistoryChanges } from "../core/session-history.ts";
import type { ReadLog, SessionState } from "../core/session-state.ts";
import { messageWeight } from "../core/tokens.ts";
import { startsTurn } from "../core/turn.ts";
import { messagesOfTurn, requireMessage } from "./find-message.ts";
import { type EventIndex, recentChanges } from "./log-index.ts";
import type { ServiceCore, ToolsOf } from "./service-core.ts";
import type { SessionWindow } from "./turn-settings.ts";
import { pinTokens, refuse, requirePinRoom } from "./working-memory-operations.ts";

/** Shows messages again that left the window, if it has room for them. */
export async function bringBack(
  { work, settings, options }: ServiceCore,
  toolsOf: ToolsOf,
  { sessionId, message, turn, pin = false }: CheckedRequest<"bringBack">,
): Promise<BroughtBackOutcome> {
  const read: ReadLog = (after, to) => options.stores.events.read(sessionId, after, to);
  return await work.run(sessionId, {}, async (session) => {
    const { state } = session;
    if (state.openCalls.length > 0) throw new SessionError("APPROVAL_REQUIRED");
    const found =
      message === undefined
        ? await messagesOfTurn(options.stores.events, sessionId, turn ?? 0)
        : [await requireMessage(read, message)];
    const missing = found.filter((each) => !isShownWhole(each, state) && hasWords(each));
    if (missing.length === 0) throw nothingMissing(message, found);
    const event: MessagesBroughtBack = {
      type: "messages_brought_back",
      messages: missing.map(broughtMessage),
      ...(pin ? { pinned: true } : {}),
    };
    const messages = missing.map(({ id }) => id);
    const tokens = broughtTokens(event.messages);
    const window = await settings.window(state.settings);
    // A message that is shown already takes its own place.
    const now = state.broughtBack.shown.filter((each) => messages.includes(each.message));
    const more = tokens - shownTokens(now);
    const morePinned = tokens - shownTokens(now.filter((each) => each.pinned));
    if (pin) requirePinRoom(pinTokens(state) + morePinned, messages, window.pinTokensMax);
    const shown = { messages, tokens };
    const tools = toolsOf(state.settings);
    const room = roomFor(state, tools, window, more);
    if (room.tokensOver > 0) return noRoom(room, shown);
    await session.commit([event]);
    const { tokensMax = null } = room;
    const usedTokens = requestTokens(state, tools);
    return { broughtBack: true, event: state.seq, ...shown, usedTokens, tokensMax };
  });
}

/** Keeps records of memory from coming back by themselves. */
export async function refuseRecall(
  { work }: ServiceCore,
  { sessionId, ids }: CheckedRequest<"refuseRecall">,
): Promise<{ readonly refused: readonly string[] }> {
  const { recalled } = await work.change(sessionId, (state) => {
    const known = new Set(state.recalled.refused);
    const records = [...new Set(ids)].filter((id) => !known.has(id));
    return records.length === 0 ? [] : [{ type: "recall_refused", records }];
  });
  return { refused: recalled.refused };
}

/** Lets records that were refused come back by themselves again. */
export async function allowRecall(
  { work }: ServiceCore,
  { sessionId, ids }: CheckedRequest<"allowRecall">,
): Promise<{ readonly refused: readonly string[] }> {
  const { recalled } = await work.change(sessionId, (state) => {
    const records = state.recalled.refused.filter((id) => ids.includes(id));
    return records.length === 0 ? [] : [{ type: "recall_allowed", records }];
  });
  return { refused: recalled.refused };
}

/** Whether the history has the message with all of its tool output. */
function isShownWhole({ id, message }: LoggedMessage, { history, settings }: SessionState) {
  const entry = history.find((each) => each.id === id);
  return entry !== undefined && entry.weight === messageWeight(message, settings.model);
}

function hasWords({ message }: LoggedMessage): boolean {
  const words = wordsOf(message);
  return (words.trim() !== "" && !isForgotten(words)) || imagesOf(message).length > 0;
}

function broughtMessage({ id, message, origin, timestampMs }: LoggedMessage): BroughtMessage {
  const images = imagesOf(message);
  return {
    message: id,
    said_by: saidBy(message, speakerOf(origin)),
    time: origin?.time ?? new Date(timestampMs).toISOString(),
    text: wordsOf(message),
    ...(images.length > 0 ? { images } : {}),
  };
}

function saidBy({ role }: Message, speaker: string | undefined): string {
  if (role === "tool_results") return "tool";
  return role === "user" ? (speaker ?? "user") : "model";
}

function imagesOf(message: Message): readonly ContentBlock[] {
  if (message.role !== "user" || typeof message.content === "string") return [];
  return message.content.filter(({ type }) => type !== "text");
}

function nothingMissing(message: number | undefined, found: readonly LoggedMessage[]) {
  const isThere = found.some(hasWords);
  const what = message === undefined ? "The turn" : `Message ${message}`;
  const why = isThere ? "is in the window, whole" : "has nothing that could be shown";
  return new SessionError("NOT_POSSIBLE", {
    message: found.length === 0 ? "The session has no such turn." : `${what} ${why}.`,
    ...given({ hint: isThere && message !== undefined ? "Pin it to keep it there." : undefined }),
  });
}

function noRoom(
  room: Room,
  shown: { readonly messages: readonly number[]; readonly tokens: number },
): BroughtBackOutcome {
  const { usedTokens, tokensMax = usedTokens, tokensOver } = room;
  const reason = tooManyTokens(room);
  return { broughtBack: false, reason, ...shown, usedTokens, tokensMax, tokensOver };
}

/** The size of the next request, and how much of it is too much. */
export interface Room {
  /** The size that a compaction counts: as the provider does, and with room for records of memory. */
  readonly usedTokens: number;
  readonly tokensMax: number | undefined;
  readonly tokensOver: number;
  readonly messagesMax: number | undefined;
  readonly messagesOver: number;
}

/** Whether the next call would compact at once, or not fit the window. It may get `more` estimated tokens. */
function roomFor(
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

function tooManyTokens({ usedTokens, tokensMax = usedTokens, tokensOver }: Room): string {
  return `The next request would have about ${usedTokens} tokens, ${tokensOver} more than there is room for: a compaction comes at ${tokensMax}.`;
}

/** Puts back what a compaction took out, if the window has room for it. */
export async function undoCompaction(
  { work, settings, options }: ServiceCore,
  toolsOf: ToolsOf,
  request: CheckedRequest<"undoCompaction">,
): Promise<UndoOutcome> {
  const { sessionId, leaveOut = [] } = request;
  const read: ReadLog = (after, to) => options.stores.events.read(sessionId, after, to);
  return await work.run(sessionId, {}, async (session) => {
    const { state } = session;
    if (state.openCalls.length > 0) throw new SessionError("APPROVAL_REQUIRED");
    const undone = await undoneBy(request, options.stores.events, state.seq);
    const inHistory = new Set(state.history.map(idOf));
    const returned = ({ history }: SessionState) =>
      history.filter(({ id, ordinal }) => ordinal >= 0 && !inHistory.has(id));
    const after = await state.without(undone, read);
    const leftOut = stayingOut(leaveOut, after, new Set(returned(after).map(idOf)));
    const event: CompactionUndone = {
      type: "compaction_undone",
      undone,
      ...(leftOut.length > 0 ? { left_out: leftOut } : {}),
    };
    after.apply(uncommitted(event, state.seq + 1));
    const tools = toolsOf(state.settings);
    const room = roomFor(after, tools, await settings.window(state.settings));
    if (room.tokensOver > 0 || room.messagesOver > 0) {
      const more = toLeaveOut(returned(after), after, room);
      return noRoomToUndo(room, [...leftOut, ...more]);
    }
    await session.commit([event]);
    return {
      undone: true,
      event: state.seq,
      compaction: undone,
      returned: returned(after).map(idOf),
      leftOut,
      messages: state.history.length,
      usedTokens: requestTokens(state, tools),
      tokensMax: room.tokensMax ?? null,
    };
  });
}

/**
 * The change that is undone. It reads the changes since then.
 *
 * @throws SessionError `NOT_POSSIBLE`
 */
async function undoneBy(
  { sessionId, event, redo }: CheckedRequest<"undoCompaction">,
  events: EventIndex,
  toSeq: number,
): Promise<number> {
  let changes = new HistoryChanges();
  for await (const recent of recentChanges(events, { sessionId, afterSeq: 0, toSeq })) {
    changes = recent;
    if (redo && changes.lastUndo === undefined) continue;
    if (redo) break;
    const last = changes.inForce().at(-1);
    if (event === undefined && last !== undefined) return last;
    if (event !== undefined && changes.canUndo(event)) return event;
  }
  if (redo)
    return (
      changes.lastUndo ??
      refuse("There is no undo since the last compaction that could be taken back.")
    );
  if (event === undefined) return refuse("There is no compaction to undo.");
  const inForce = changes.inForce();
  const last = inForce.at(-1);
  const which =
    last === undefined
      ? "There is no compaction to undo."
      : `Those that can be undone are the events ${inForce.slice(-SHOWN_MAX).join(", ")}.`;
  return refuse(`Event ${event} is no compaction, or it is undone already. ${which}`);
}

const SHOWN_MAX = 20;

function uncommitted(event: CompactionUndone, seq: number): StoredEvent {
  return { event_id: newId(), timestamp_ms: Date.now(), event, seq, schema_version: 1 };
}

/**
 * The messages that stay out, each with the calls or results that belong to it.
 *
 * @throws SessionError `INVALID_PARAMS` for a message that would not come back
 */
function stayingOut(
  ids: readonly number[],
  { history, messages }: SessionState,
  returned: ReadonlySet<number>,
): readonly number[] {
  const other = ids.filter((id) => !returned.has(id));
  if (other.length > 0) {
    throw new SessionError("INVALID_PARAMS", {
      message: `This undo would not bring back the messages ${other.join(", ")}, so they cannot be left out.`,
    });
  }
  const named = new Set(ids);
  const positions = history.flatMap(({ id }, index) => (named.has(id) ? [index] : []));
  return [...joinedWith(messages, positions)].flatMap((index) => history[index]?.id ?? []);
}

/** A group of messages that stay or go together, in the order in which groups go. */
interface Group {
  readonly entries: readonly HistoryEntry[];
  readonly rank: number;
  readonly weight: number;
}

/** Messages whose absence makes room: the largest calls with their output first, then answers, people's words last. */
function toLeaveOut(
  returned: readonly HistoryEntry[],
  { working, counts, settings }: SessionState,
  { tokensOver, messagesOver }: Room,
): readonly number[] {
  const groups: HistoryEntry[][] = [];
  for (const entry of returned) {
    const last = groups.at(-1);
    if (last && toolResults(entry.message).length > 0) last.push(entry);
    else groups.push([entry]);
  }
  const ranked = groups
    .filter((entries) => !entries.some(({ id }) => working.isPinned(id)))
    .filter(([first]) => first?.message.role !== "system")
    .map((entries): Group => {
      const rank = entries.length > 1 ? 0 : entries.some(isAsking) ? 2 : 1;
      return { entries, rank, weight: entries.reduce((sum, { weight }) => sum + weight + 1, 0) };
    })
    .sort((one, other) => one.rank - other.rank || other.weight - one.weight);
  const factor = Math.max(1, counts.factor(settings.model));
  const left: number[] = [];
  let [tokens, messages] = [0, 0];
  for (const { entries, weight } of ranked) {
    if (tokens >= tokensOver && messages >= messagesOver) break;
    tokens += (factor * weight) / 4;
    messages += entries.length;
    left.push(...entries.map(idOf));
  }
  return left;
}

function isAsking({ message }: HistoryEntry): boolean {
  return startsTurn(message);
}

function noRoomToUndo(room: Room, leaveOut: readonly number[]): UndoOutcome {
  const { usedTokens, tokensMax = usedTokens, tokensOver, messagesMax = 0, messagesOver } = room;
  const why =
    tokensOver > 0
      ? tooManyTokens(room)
      : `The history would have ${messagesMax + messagesOver} messages, ${messagesOver} more than there is room for: a compaction comes at ${messagesMax + 1}.`;
  const how = leaveOut.length > 0 ? ` Leave out ${leaveOut.length} of the messages.` : "";
  const sorted = leaveOut.toSorted((one, other) => one - other);
  return { undone: false, reason: why + how, usedTokens, tokensMax, tokensOver, leaveOut: sorted };
}

function idOf({ id }: HistoryEntry): number {
  return id;
}
