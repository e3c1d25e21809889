import { SessionError } from "../core/errors.ts";
import type { StoredEvent } from "../core/event.ts";
import { type LoggedMessage, MessageAssembler } from "../core/message-assembler.ts";
import type { ReadLog } from "../core/session-state.ts";
import { startsTurn } from "../core/turn.ts";

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

/** The messages of a turn, with its prompt. It reads the log up to the end of the turn. */
export async function messagesOfTurn(
  read: ReadLog,
  turn: number,
): Promise<readonly LoggedMessage[]> {
  const assembler = new MessageAssembler();
  const messages: LoggedMessage[] = [];
  let begun = 0;
  for await (const stored of read(0)) {
    const logged = assembler.push(stored);
    if (!logged) continue;
    if (startsTurn(logged.message)) begun += 1;
    if (begun > turn + 1) break;
    if (begun === turn + 1 && logged.message.role !== "system") messages.push(logged);
  }
  return messages;
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
