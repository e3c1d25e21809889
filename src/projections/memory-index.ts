import { type CompactionCompleted, speakerOf, type TextForgotten } from "../core/event.ts";
import type { EventStore, PositionedEvent } from "../core/event-store.ts";
import type { MemoryEntry, MemoryStore } from "../core/memory-store.ts";
import { indexableText, isForgotten } from "../core/message.ts";
import { type LoggedMessage, MessageAssembler } from "../core/message-assembler.ts";
import { startsTurn } from "../core/turn.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import { LogProjection } from "./log-projection.ts";
import { MEMORY_INDEX } from "./memory-behind.ts";

/**
 * Adds the messages that compactions discarded to memory.
 *
 * An entry's id is `<session id>:<message id>`. So a message is stored once, even when several
 * processes index it.
 */
export class MemoryIndex extends LogProjection {
  readonly name = MEMORY_INDEX;
  readonly #memory: MemoryStore;

  constructor(events: EventStore, memory: MemoryStore) {
    super(events);
    this.#memory = memory;
  }

  protected async project(events: readonly PositionedEvent[]): Promise<void> {
    for (const { sessionId, stored } of events) {
      const { event } = stored;
      if (event.type === "compaction_completed") await this.#remember(sessionId, event);
      if (event.type === "text_forgotten") await this.#forget(sessionId, event);
    }
  }

  async #remember(sessionId: string, event: CompactionCompleted): Promise<void> {
    if (!(await this.settingsOf(sessionId))?.memory) return;
    const before = await this.events.lastSeq(sessionId);
    await this.#memory.add(await this.#entries(sessionId, event));
    // Undoes what was forgotten while the entries were read.
    for await (const { event } of this.events.read(sessionId, before)) {
      if (event.type === "text_forgotten") await this.#forget(sessionId, event);
    }
  }

  async #forget(
    sessionId: string,
    { messages, shortened = [] }: Pick<TextForgotten, "messages" | "shortened">,
  ): Promise<void> {
    const ids = (seqs: readonly number[]) => seqs.map((seq) => `${sessionId}:${seq}`);
    await this.#memory.delete({ ids: ids([...messages, ...shortened]) });
    if (shortened.length === 0 || !(await this.settingsOf(sessionId))?.memory) return;
    const wanted = new Set(ids(shortened));
    for await (const { event } of this.events.read(sessionId, 0)) {
      if (event.type !== "compaction_completed") continue;
      const entries = await this.#entries(sessionId, event);
      await this.#memory.add(entries.filter(({ id }) => wanted.has(id)));
    }
  }

  async #entries(sessionId: string, { discarded }: CompactionCompleted): Promise<MemoryEntry[]> {
    const entries: MemoryEntry[] = [];
    for (const { from, to, turns_before } of discarded) {
      const assembler = new MessageAssembler();
      let turns = turns_before;
      for await (const stored of this.events.read(sessionId, from - 1, to)) {
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
  if (content.trim() === "" || isForgotten(content)) return [];
  const speaker = speakerOf(origin);
  return [
    {
      id: `${sessionId}:${id}`,
      content,
      sessionId,
      turn,
      kind: "message",
      time: origin?.time ?? new Date(timestampMs).toISOString(),
      role: message.role === "user" ? "user" : "assistant",
      ...(speaker ? { speaker } : {}),
      source: { from, to: id },
    },
  ];
}
