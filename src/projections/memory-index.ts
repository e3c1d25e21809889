import type { CompactionCompleted } from "../core/event.ts";
import type { EventStore, PositionedEvent } from "../core/event-store.ts";
import type { MemoryEntry, MemoryStore } from "../core/memory-store.ts";
import { indexableText } from "../core/message.ts";
import { type LoggedMessage, MessageAssembler } from "../core/message-assembler.ts";
import type { Projection } from "../core/projection.ts";
import { startsTurn } from "../core/turn.ts";
import { redactSecrets } from "../memory/redact-secrets.ts";

/**
 * Puts what compactions discarded into memory, by way of the log.
 *
 * An entry's id is made of the session and the message's place in its log, so
 * that a message is there once, however often it is indexed and by however
 * many processes.
 */
export class MemoryIndex implements Projection {
  readonly name = "memory-index";
  readonly #events: EventStore;
  readonly #memory: MemoryStore;

  constructor(events: EventStore, memory: MemoryStore) {
    this.#events = events;
    this.#memory = memory;
  }

  position(): Promise<number> {
    return this.#events.checkpoint(this.name);
  }

  async apply(events: readonly PositionedEvent[]): Promise<void> {
    for (const { sessionId, stored } of events) {
      if (stored.event.type !== "compaction_completed") continue;
      if (!(await this.#remembers(sessionId))) continue;
      await this.#memory.add(await this.#entries(sessionId, stored.event));
    }
    const last = events.at(-1);
    if (last) await this.#events.saveCheckpoint(this.name, last.position);
  }

  /** Whether the session was created with memory on. Its first event says so. */
  async #remembers(sessionId: string): Promise<boolean> {
    for await (const { event } of this.#events.read(sessionId, 0, 1)) {
      return event.type === "session_created" && event.settings.memory;
    }
    return false;
  }

  async #entries(sessionId: string, { discarded }: CompactionCompleted): Promise<MemoryEntry[]> {
    const entries: MemoryEntry[] = [];
    for (const { from, to, turns_before } of discarded) {
      const assembler = new MessageAssembler();
      let turns = turns_before;
      for await (const stored of this.#events.read(sessionId, from - 1, to)) {
        const logged = assembler.push(stored);
        if (!logged) continue;
        if (startsTurn(logged.message)) turns += 1;
        entries.push(...entryOf(sessionId, logged, Math.max(0, turns - 1)));
      }
    }
    return entries;
  }
}

function entryOf(sessionId: string, logged: LoggedMessage, turn: number): MemoryEntry[] {
  const { id, from, message, origin, timestampMs } = logged;
  const content = redactSecrets(indexableText(message));
  if (content.trim() === "") return [];
  return [
    {
      id: `${sessionId}:${id}`,
      content,
      sessionId,
      turn,
      kind: "message",
      time: origin?.time ?? new Date(timestampMs).toISOString(),
      role: message.role === "user" ? "user" : "assistant",
      ...(origin?.speaker ? { speaker: origin.speaker } : {}),
      source: { from, to: id },
    },
  ];
}
