import type { Span, StoredEvent } from "../../src/core/event.ts";
import type { MemoryScope, MemoryStore } from "../../src/core/memory-store.ts";
import { indexableText } from "../../src/core/message.ts";
import { MessageAssembler } from "../../src/core/message-assembler.ts";
import { startsTurn } from "../../src/core/turn.ts";
import { redactSecrets } from "../../src/secrets/redact-secrets.ts";

/** A text in memory, and the message of the log that it stands for. */
export interface Remembered {
  readonly id: string;
  readonly content: string;
  readonly turn: number | null;
  readonly speaker: string | null;
  readonly time: string | null;
}

/** What memory has to hold of a session: the text of each message, or of each that compactions discarded. */
export function owedToMemory(
  sessionId: string,
  log: readonly StoredEvent[],
  scope: MemoryScope = "all",
): Remembered[] {
  const assembler = new MessageAssembler();
  const discarded = log.flatMap(({ event }): readonly Span[] =>
    event.type === "compaction_completed" ? event.discarded : [],
  );
  const owed: Remembered[] = [];
  let turns = 0;
  for (const stored of log) {
    const logged = assembler.push(stored);
    if (!logged) continue;
    const { id, message, origin, timestampMs } = logged;
    if (startsTurn(message)) turns += 1;
    const content = redactSecrets(indexableText(message));
    const isOwed = scope === "all" || discarded.some(({ from, to }) => from <= id && id <= to);
    if (content.trim() === "" || !isOwed) continue;
    owed.push({
      id: `${sessionId}:${id}`,
      content,
      turn: Math.max(0, turns - 1),
      speaker: origin?.speaker ?? null,
      time: origin?.time ?? new Date(timestampMs).toISOString(),
    });
  }
  return owed;
}

/** All that a memory holds, as it lists it. */
export async function heldInMemory(memory: Pick<MemoryStore, "list">): Promise<Remembered[]> {
  const held: Remembered[] = [];
  for (let after: string | undefined; ; after = held.at(-1)?.id) {
    const page = await memory.list({ limit: 1000, ...(after === undefined ? {} : { after }) });
    if (page.length === 0) return held;
    for (const { id, content, turn, speaker = null, time = null } of page) {
      held.push({ id, content, turn, speaker, time });
    }
  }
}

/** Both sides of the account in one order, for comparing. */
export function inOrder(entries: readonly Remembered[]): Remembered[] {
  return entries.toSorted((one, other) => (one.id < other.id ? -1 : 1));
}
