import { SessionError } from "../core/errors.ts";
import type { StoredEvent } from "../core/event.ts";
import type { EventStore } from "../core/event-store.ts";
import { toolUses } from "../core/message.ts";
import { type LoggedMessage, MessageAssembler } from "../core/message-assembler.ts";
import type { ReadLog } from "../core/session-state.ts";
import { startsTurn } from "../core/turn.ts";
import { beginningOfTurn, type EventIndex } from "./log-index.ts";

/** Events read back in the first search for the beginning of a message. */
const FIRST_EVENTS = 32;

/** Events that are a whole message. */
const WHOLE = new Set<string>(["run_started", "message_added"]);

/** A message of a log by its id. It reads the message, and little before it. Undefined when there is none. */
export async function findMessage(read: ReadLog, id: number): Promise<LoggedMessage | undefined> {
  for (let back = 1; ; back = back === 1 ? FIRST_EVENTS : 4 * back) {
    const after = Math.max(0, id - back);
    const events = await Array.fromAsync(read(after, id));
    const last = events.at(-1);
    if (last?.seq !== id || !mayComplete(last)) return undefined;
    if (back === 1 && !WHOLE.has(last.event.type)) continue;
    const found = completedBy(events);
    if (after === 0 || hasBeginning(events, found)) return found;
  }
}

/** @throws SessionError `MESSAGE_NOT_IN_HISTORY` */
export async function requireMessage(read: ReadLog, id: number): Promise<LoggedMessage> {
  const found = await findMessage(read, id);
  if (found) return found;
  throw new SessionError("MESSAGE_NOT_IN_HISTORY", {
    message: `No message of this session has the id ${id}.`,
  });
}

/** The messages of a turn, with its prompt. It reads the turn. */
export async function messagesOfTurn(
  events: EventIndex & Pick<EventStore, "lastSeq">,
  sessionId: string,
  turn: number,
): Promise<readonly LoggedMessage[]> {
  const begins = await beginningOfTurn(events, sessionId, turn);
  if (begins === undefined) return [];
  const assembler = new MessageAssembler();
  const messages: LoggedMessage[] = [];
  for await (const stored of events.read(sessionId, begins - 1)) {
    const logged = assembler.push(stored);
    if (!logged) continue;
    if (messages.length > 0 && startsTurn(logged.message)) break;
    if (logged.message.role !== "system") messages.push(logged);
  }
  return messages;
}

/** Events between the end of a message that was said about a call, and the call. */
const CALL_DISTANCE = 200;

/**
 * The messages around some events: the ones that have them, or that stand right before and after them. Results come with
 * the calls that they answer.
 */
export async function messagesAround(
  read: ReadLog,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<readonly LoggedMessage[]> {
  const assembler = new MessageAssembler();
  let calls: LoggedMessage | undefined;
  const found: LoggedMessage[] = [];
  for await (const stored of read(await beginningBefore(read, from), to + CALL_DISTANCE)) {
    const logged = assembler.push(stored);
    if (!logged) continue;
    if (logged.id < from) {
      calls = logged;
      continue;
    }
    const isAnswer = logged.message.role === "tool_results" || logged.from > from;
    if (found.length === 0 && isAnswer && calls && toolUses(calls.message).length > 0)
      found.push(calls);
    if (logged.from <= to || found.length > 0) found.push(logged);
    if (logged.id >= to) return found;
  }
  return found;
}

/** The event before the call of the model that an event belongs to. */
async function beginningBefore(read: ReadLog, seq: number): Promise<number> {
  for (let back = FIRST_EVENTS; ; back *= 4) {
    const after = Math.max(0, seq - back);
    let begins = 0;
    for await (const { seq: at, event } of read(after, seq - 1)) {
      if (event.type === "turn_started" || event.type === "message_added") begins = at;
    }
    if (begins > 0 || after === 0) return Math.max(0, begins - 1);
  }
}

function mayComplete({ event: { type } }: StoredEvent): boolean {
  return WHOLE.has(type) || type === "turn_completed" || type === "tool_execution_completed";
}

function completedBy(events: readonly StoredEvent[]): LoggedMessage | undefined {
  const assembler = new MessageAssembler();
  let found: LoggedMessage | undefined;
  for (const stored of events) found = assembler.push(stored);
  return found;
}

/** Whether the events have all of the message: it is whole, or the call of the model before it began among them. */
function hasBeginning(events: readonly StoredEvent[], found: LoggedMessage | undefined): boolean {
  const last = events.at(-1);
  if (last && WHOLE.has(last.event.type)) return true;
  const ends = found?.from ?? last?.seq ?? 0;
  return events.some(({ seq, event }) => seq < ends && event.type === "turn_started");
}
