import type { StoredEvent } from "../../src/core/event.ts";
import type { Message } from "../../src/core/message.ts";
import { MessageAssembler } from "../../src/core/message-assembler.ts";

/** All messages that a log tells of, whatever compactions did to the history. */
export function messagesOf(log: readonly StoredEvent[]): readonly Message[] {
  const assembler = new MessageAssembler();
  return log.flatMap((stored) => assembler.push(stored)?.message ?? []);
}
