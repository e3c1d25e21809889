import { SessionError } from "../core/errors.ts";
import type { DurableEvent, Origin } from "../core/event.ts";
import { given } from "../core/fields.ts";
import type { Message } from "../core/message.ts";
import * as requests from "../core/requests.ts";
import type { MessagesAppended } from "../core/session-service.ts";
import type { SessionState } from "../core/session-state.ts";
import { WorkingMemory } from "../core/working-memory.ts";
import { givenInstructions } from "../knowledge/given-instructions.ts";
import { hashOf } from "../knowledge/hash-of.ts";
import type { SessionWork } from "./session-work.ts";
import { instructionBytesMax, type TurnSettings } from "./turn-settings.ts";

/** Adds messages to a session without a turn: one batch, in one transaction. */
export async function appendMessages(
  request: requests.AppendMessages,
  work: SessionWork,
  settings: TurnSettings,
): Promise<MessagesAppended> {
  const { sessionId, messages, key, origin } = requests.parseRequest(
    requests.appendMessages,
    request,
  );
  return await work.run(sessionId, {}, async (session) => {
    const { state } = session;
    const name = key === undefined ? undefined : hashOf(key);
    const known = name === undefined ? undefined : state.appended.find(name);
    if (known) {
      const count = known.to - known.from + 1;
      if (count !== messages.length) throw keyIsTaken(key, count, messages.length);
      return appended(state, 0, known.from, count);
    }
    if (state.openCalls.length > 0) throw new SessionError("APPROVAL_REQUIRED");
    const bytesMax = instructionBytesMax((await settings.window(state.settings)).compaction);
    const batch = name === undefined ? {} : { batch: { key: name, messages: messages.length } };
    let from = 0;
    await session.update((now) => {
      from = now.seq + 1;
      const [first, ...rest] = eventsOf(messages, origin, now, bytesMax);
      return first ? [{ ...first, ...batch }, ...rest] : [];
    });
    return appended(state, messages.length, from, messages.length);
  });
}

type MessageAdded = Extract<DurableEvent, { type: "message_added" }>;

/** The events of a batch. A user's standing instructions hold in the session, as those of a prompt do. */
function eventsOf(
  messages: readonly Message[],
  given: Origin | undefined,
  { seq, settings, working }: SessionState,
  bytesMax: number,
): MessageAdded[] {
  const after = new WorkingMemory();
  after.restore(working.snapshot());
  return messages.map((message, index) => {
    const place = originOf(message, given);
    const { origin } = place;
    const isUsers = message.role === "user" && origin?.author === "user";
    const instructions = isUsers
      ? givenInstructions({ working: after, settings }, { ...message, origin }, bytesMax)
      : {};
    const event: MessageAdded = { type: "message_added", message, ...place, ...instructions };
    after.note({ seq: seq + 1 + index, event }, undefined, 0);
    return event;
  });
}

/** Only user messages have an author or a name. Of the others the origin says when and where. */
function originOf(
  message: Message,
  { author, speaker, ...place }: Origin = {},
): { readonly origin?: Origin } {
  const isUsers = message.role === "user";
  const nameless = speaker === undefined ? ("program" as const) : undefined;
  const writer = isUsers ? given({ author: author ?? nameless, speaker }) : {};
  const origin: Origin = { ...writer, ...place };
  return Object.keys(origin).length > 0 ? { origin } : {};
}

function appended(
  { id, turns, historyTokens }: SessionState,
  added: number,
  from: number,
  count: number,
): MessagesAppended {
  const messages = Array.from({ length: count }, (_, index) => from + index);
  return { sessionId: id, added, messages, turns, historyTokens };
}

function keyIsTaken(key: string | undefined, before: number, now: number): SessionError {
  return new SessionError("SESSION_CONFLICT", {
    message: `The key "${key}" belongs to a batch of ${before} messages. This batch has ${now}.`,
    hint: "Repeat a batch unchanged, or give the new one another key.",
  });
}
