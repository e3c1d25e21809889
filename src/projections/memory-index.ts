import {
  type DiscardedSpan,
  type StoredEvent,
  speakerOf,
  type TextForgotten,
} from "../core/event.ts";
import type { EventStore, PositionedEvent } from "../core/event-store.ts";
import type { MemoryEntry, MemoryScope, MemoryStore } from "../core/memory-store.ts";
import { indexableText, isForgotten } from "../core/message.ts";
import { type LoggedMessage, MessageAssembler } from "../core/message-assembler.ts";
import { startsTurn } from "../core/turn.ts";

import { LogProjection, remember } from "./log-projection.ts";

import { MEMORY_INDEX } from "./memory-behind.ts";

export interface MemoryIndexOptions {
  /** Default `all`. */
  readonly scope?: MemoryScope | undefined;
  /** A message that this process has read already, so that it is not read again. */
  readonly messageAt?: (sessionId: string, seq: number) => SaidMessage | undefined;
}

/** A message, and the turn that it belongs to, from 0; -1 before the first. */
type SaidMessage = LoggedMessage & { readonly turn: number };

/** Events that complete a message of the user or the model. */
const COMPLETING = new Set(["run_started", "message_added", "turn_completed"]);

/**
 * Adds messages to memory: all of them, or only those that compactions discarded.
 *
 * An entry's id is `<session id>:<message id>`. So a message is stored once, even when several
 * processes index it.
 */
export class MemoryIndex extends LogProjection {
  readonly name: string;
  readonly #memory: MemoryStore;
  readonly #scope: MemoryScope;
  readonly #messageAt: NonNullable<MemoryIndexOptions["messageAt"]>;
  readonly #readers = new Map<string, SessionReader>();

  constructor(events: EventStore, memory: MemoryStore, options: MemoryIndexOptions = {}) {
    super(events);
    const { scope = "all", messageAt = () => undefined } = options;
    this.name = MEMORY_INDEX[scope];
    this.#memory = memory;
    this.#scope = scope;
    this.#messageAt = messageAt;
  }

  protected async project(events: readonly PositionedEvent[]): Promise<void> {
    let entries: MemoryEntry[] = [];
    for (const { sessionId, stored } of events) {
      entries.push(...(await this.#entriesAt(sessionId, stored)));
      if (stored.event.type !== "text_forgotten") continue;
      await this.#memory.add(entries, this.events);
      entries = [];
      await this.#forget(sessionId, stored.event);
    }
    if (entries.length === 0) return;
    await this.#memory.add(entries, this.events);
    // Undoes what was forgotten while the entries were read.
    const lastRead = new Map(events.map(({ sessionId, stored }) => [sessionId, stored.seq]));
    for (const sessionId of new Set(entries.map((entry) => entry.sessionId))) {
      for await (const { event } of this.events.read(sessionId, lastRead.get(sessionId) ?? 0)) {
        if (event.type === "text_forgotten") await this.#forget(sessionId, event);
      }
    }
  }

  /** The entries that an event adds. */
  async #entriesAt(sessionId: string, stored: StoredEvent): Promise<readonly MemoryEntry[]> {
    if (!(await this.settingsOf(sessionId))?.memory) return [];
    if (this.#scope === "all") {
      const said = await this.#completedBy(sessionId, stored);
      return said && isRemembered(stored) ? entryOf(sessionId, said) : [];
    }
    const { event } = stored;
    return event.type === "compaction_completed" ? this.#entriesIn(sessionId, event.discarded) : [];
  }

  /** The message that an event completes. The log is read only if this process has not read it. */
  async #completedBy(sessionId: string, stored: StoredEvent): Promise<SaidMessage | undefined> {
    const reader = stored.seq === 1 ? this.#readerOf(sessionId) : this.#readers.get(sessionId);
    if (reader?.seq === stored.seq - 1) return reader.push(stored);
    if (!COMPLETING.has(stored.event.type)) return undefined;
    const known = this.#messageAt(sessionId, stored.seq);
    if (known) return known;
    const fresh = this.#readerOf(sessionId);
    let said: SaidMessage | undefined;
    for await (const each of this.events.read(sessionId, 0, stored.seq)) said = fresh.push(each);
    return said;
  }

  #readerOf(sessionId: string): SessionReader {
    const reader = new SessionReader();
    remember(this.#readers, sessionId, reader);
    return reader;
  }

  async #forget(
    sessionId: string,
    { messages, shortened = [] }: Pick<TextForgotten, "messages" | "shortened">,
  ): Promise<void> {
    const ids = (seqs: readonly number[]) => seqs.map((seq) => `${sessionId}:${seq}`);
    await this.#memory.delete({ ids: ids([...messages, ...shortened]) });
    if (shortened.length === 0 || !(await this.settingsOf(sessionId))?.memory) return;
    const wanted = new Set(ids(shortened));
    const spans: DiscardedSpan[] = [];
    if (this.#scope === "all") spans.push({ from: 1, to: Math.max(...shortened), turns_before: 0 });
    else {
      for await (const { event } of this.events.read(sessionId, 0)) {
        if (event.type === "compaction_completed") spans.push(...event.discarded);
      }
    }
    const entries = await this.#entriesIn(sessionId, spans);
    await this.#memory.add(
      entries.filter(({ id }) => wanted.has(id)),
      this.events,
    );
  }

  async #entriesIn(sessionId: string, spans: readonly DiscardedSpan[]): Promise<MemoryEntry[]> {
    const entries: MemoryEntry[] = [];
    for (const { from, to, turns_before } of spans) {
      const reader = new SessionReader(turns_before);
      for await (const stored of this.events.read(sessionId, from - 1, to)) {
        const said = reader.push(stored);
        if (said && isRemembered(stored)) entries.push(...entryOf(sessionId, said));
      }
    }
    return entries;
  }
}

/** Reads messages and counts turns. */
class SessionReader {
  /** `seq` of the last event. */
  seq = 0;
  #turns: number;
  readonly #assembler = new MessageAssembler();

  constructor(turnsBefore = 0) {
    this.#turns = turnsBefore;
  }

  /** Takes the next event. Returns the message that it completes, if any. */
  push(stored: StoredEvent): SaidMessage | undefined {
    this.seq = stored.seq;
    const logged = this.#assembler.push(stored);
    if (logged && startsTurn(logged.message)) this.#turns += 1;
    return logged && { ...logged, turn: this.#turns - 1 };
  }
}

/** Imported messages say when they are not for memory, such as the summaries of other programs. */
function isRemembered({ event }: StoredEvent): boolean {
  return event.type !== "message_added" || event.memory !== false;
}

function entryOf(sessionId: string, said: SaidMessage): MemoryEntry[] {
  const { id, from, message, origin, timestampMs, turn } = said;
  const content = indexableText(message);
  if (content.trim() === "" || isForgotten(content)) return [];
  const speaker = speakerOf(origin);
  return [
    {
      id: `${sessionId}:${id}`,
      content,
      sessionId,
      turn: Math.max(0, turn),
      kind: "message",
      time: origin?.time ?? new Date(timestampMs).toISOString(),
      role: message.role === "user" ? "user" : "assistant",
      ...(speaker ? { speaker } : {}),
      source: { from, to: id },
    },
  ];
}
