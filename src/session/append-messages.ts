import { SessionError } from "../core/errors.ts";
import type { Origin } from "../core/event.ts";
import { given } from "../core/fields.ts";
import type { Message } from "../core/message.ts";
import * as requests from "../core/requests.ts";
import type { MessagesAppended } from "../core/session-service.ts";
import type { SessionState } from "../core/session-state.ts";
import { hashOf } from "../knowledge/hash-of.ts";
import type { SessionWork } from "./session-work.ts";

/** Adds messages to a session without a turn: one batch, in one transaction. */
export async function appendMessages(
  request: requests.AppendMessages,
  work: SessionWork,
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
    const from = state.seq + 1;
    const batch = name === undefined ? {} : { batch: { key: name, messages: messages.length } };
    await session.commit(
      messages.map((message, index) => ({
        type: "message_added",
        message,
        ...originOf(message, origin),
        ...(index === 0 ? batch : {}),
      })),
    );
    return appended(state, messages.length, from, messages.length);
  });
}

/** Only user messages have an author or a name. Of the others the origin says when and where. */
function originOf(message: Message, { author, speaker, ...place }: Origin = {}) {
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
