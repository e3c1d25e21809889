import { requestTokens } from "../agent/request-size.ts";
import { broughtTokens } from "../core/brought-back.ts";
import { SessionError } from "../core/errors.ts";
import { type BroughtMessage, type MessagesBroughtBack, speakerOf } from "../core/event.ts";
import { given } from "../core/fields.ts";
import { type ContentBlock, isForgotten, type Message, wordsOf } from "../core/message.ts";
import type { LoggedMessage } from "../core/message-assembler.ts";
import type { BroughtBackOutcome } from "../core/operations/bring-back.ts";
import type { CheckedRequest } from "../core/operations.ts";
import type { ReadLog, SessionState } from "../core/session-state.ts";
import { messageWeight } from "../core/tokens.ts";
import { messagesOfTurn, requireMessage } from "./find-message.ts";
import type { ServiceCore, ToolsOf } from "./service-core.ts";
import { type Room, roomFor } from "./window-room.ts";
import { pinTokens, requirePinRoom } from "./working-memory-operations.ts";

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
    if (pin) requirePinRoom(pinTokens(state) + tokens, messages, window.pinTokensMax);
    const shown = { messages, tokens };
    const tools = toolsOf(state.settings);
    const room = roomFor(state, tools, window, tokens);
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
  { usedTokens, tokensMax = usedTokens, tokensOver }: Room,
  shown: { readonly messages: readonly number[]; readonly tokens: number },
): BroughtBackOutcome {
  const reason = `The next request would have about ${usedTokens} tokens, ${tokensOver} more than there is room for: a compaction comes at ${tokensMax}.`;
  return { broughtBack: false, reason, ...shown, usedTokens, tokensMax, tokensOver };
}
