import {
  type DiscardedSpan,
  type StoredEvent,
  speakerOf,
  type TextForgotten,
} from "../core/event.ts";
import {
  type Ending,
  type EventStore,
  endingsOf,
  isDeleted,
  type LogPlace,
  type PositionedEvent,
  type Removal,
} from "../core/event-store.ts";
import type { MemoryEntry, MemoryScope, MemoryStore } from "../core/memory-store.ts";
import { indexableText, isForgotten } from "../core/message.ts";
import { type LoggedMessage, MessageAssembler } from "../core/message-assembler.ts";
import { startsTurn } from "../core/turn.ts";
import { LogProjection, MEMORY_INDEX, remember } from "./log-projection.ts";

export interface MemoryIndexOptions {
  /** Default `all`. */
  readonly scope?: MemoryScope | undefined;
  /** A message that this process has read already, so that it is not read again. */
  readonly messageAt?: (sessionId: string, seq: number) => LoggedMessage | undefined;
  /** The last event of a session, when this process wrote it and everything behind `seq`. */
  readonly writtenTo?: (sessionId: string, seq: number) => number | undefined;
}

/** Events that are a whole message. */
const WHOLE_MESSAGES = new Set(["run_started", "message_added"]);

/** Events read back in the first search for the beginning of a model's answer. */
const ANSWER_EVENTS = 32;

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
  readonly #writtenTo: NonNullable<MemoryIndexOptions["writtenTo"]>;
  readonly #readers = new Map<string, SessionReader>();
  /** Whether an imported session that did not begin in memory came into it later. */
  readonly #remembered = new Map<string, boolean>();
  readonly #removals = new Map<string, Removals>();

  constructor(events: EventStore, memory: MemoryStore, options: MemoryIndexOptions = {}) {
    super(events);
    const { scope = "all", messageAt = () => undefined, writtenTo = () => undefined } = options;
    this.name = MEMORY_INDEX[scope];
    this.#memory = memory;
    this.#scope = scope;
    this.#messageAt = messageAt;
    this.#writtenTo = writtenTo;
  }

  protected async project(events: readonly PositionedEvent[]): Promise<void> {
    let entries: MemoryEntry[] = [];
    const changed = new Set<string>();
    for (const positioned of events) {
      const { sessionId, stored } = positioned;
      const added = await this.#entriesAt(positioned);
      entries.push(...added);
      if (added.length > 0 || stored.event.type === "session_deleted") changed.add(sessionId);
      if (stored.event.type !== "text_forgotten") continue;
      await this.#memory.add(entries, this.events);
      entries = [];
      await this.#forget(sessionId, stored.event);
    }
    if (entries.length > 0) await this.#memory.add(entries, this.events);
    // Removes entries that were forgotten or deleted while they were read. Forgetting appends to the log.
    const lastRead = new Map(events.map(({ sessionId, stored }) => [sessionId, stored]));
    const read = [...lastRead].filter(([sessionId]) => changed.has(sessionId));
    const places = read.map(([sessionId, { seq }]) => this.#unseenFrom(sessionId, seq));
    const endings = await endingsOf(this.events, places);
    for (const [at, [sessionId, { seq: last, event }]] of read.entries()) {
      const { last: end, removals } = endings[at] as Ending;
      const known = this.#removals.get(sessionId)?.found ?? [];
      const found = [...known, ...removals].filter(({ seq }) => seq > last);
      remember(this.#removals, sessionId, { to: end, found });
      if (end < last || event.type === "session_deleted") await this.#again(sessionId);
      for (const removal of found) {
        if (removal.event.type === "text_forgotten") await this.#forget(sessionId, removal.event);
        else await this.#again(sessionId);
      }
    }
  }

  /** From where on a log may have removals that this process does not know. Each event is looked at once. */
  #unseenFrom(sessionId: string, seq: number): LogPlace {
    const known = this.#removals.get(sessionId)?.to ?? 0;
    return { sessionId, seq: Math.max(seq, known, this.#writtenTo(sessionId, seq) ?? 0) };
  }

  /** The entries that these events give, in their order. */
  async entriesOf(events: readonly PositionedEvent[]): Promise<readonly MemoryEntry[]> {
    const entries: MemoryEntry[] = [];
    for (const positioned of events) entries.push(...(await this.#entriesAt(positioned)));
    return entries;
  }

  /** The entries of a part of a session's log. Their turns are counted from there. */
  entriesBetween(
    sessionId: string,
    { from, to }: { readonly from: number; readonly to: number },
  ): Promise<readonly MemoryEntry[]> {
    return this.#entriesIn(sessionId, [{ from, to, turns_before: 0 }]);
  }

  /** Adds what memory lacks of these events. */
  fill(events: readonly PositionedEvent[]): Promise<void> {
    return this.project(events);
  }

  /** Makes the entries of a session as its log is now: none of a deleted one, and all of one that was restored since. */
  async #again(sessionId: string): Promise<void> {
    await this.#memory.delete({ sessionId });
    if (await isDeleted(sessionId, this.events)) return;
    if (!(await this.#isForMemory(sessionId))) return;
    const spans = await this.#spansUpTo(sessionId, await this.events.lastSeq(sessionId));
    await this.#memory.add(await this.#entriesIn(sessionId, spans), this.events);
  }

  /** The entries that an event adds. */
  async #entriesAt(positioned: PositionedEvent): Promise<readonly MemoryEntry[]> {
    const { sessionId, stored, turns } = positioned;
    const comesIn = stored.event.type === "session_remembered";
    if (comesIn) remember(this.#remembered, sessionId, true);
    if (!(await this.#isForMemory(sessionId))) return [];
    if (comesIn) {
      return await this.#entriesIn(sessionId, await this.#spansUpTo(sessionId, stored.seq));
    }
    if (this.#scope === "all") {
      const logged = await this.#completedBy(sessionId, stored);
      return logged && isRemembered(stored) ? entryOf(sessionId, logged, turns) : [];
    }
    const { event } = stored;
    return event.type === "compaction_completed" ? this.#entriesIn(sessionId, event.discarded) : [];
  }

  /** The message that an event completes. Earlier events are read only if this process has not seen them. */
  async #completedBy(sessionId: string, stored: StoredEvent): Promise<LoggedMessage | undefined> {
    const { seq, event } = stored;
    const reader = this.#readers.get(sessionId);
    if (reader?.seq === seq - 1) return reader.push(stored);
    const isWhole = WHOLE_MESSAGES.has(event.type);
    if (!isWhole && event.type !== "turn_completed") return undefined;
    const known = this.#messageAt(sessionId, seq);
    if (known) return known;
    const fresh = new SessionReader();
    remember(this.#readers, sessionId, fresh);
    if (isWhole) return fresh.push(stored);
    let logged: LoggedMessage | undefined;
    for (const each of await this.#answerUpTo(sessionId, seq)) logged = fresh.push(each);
    return logged;
  }

  /** Events up to the end of a model's answer, from its beginning or earlier. */
  async #answerUpTo(sessionId: string, seq: number): Promise<readonly StoredEvent[]> {
    for (let back = ANSWER_EVENTS; ; back *= 4) {
      const after = Math.max(0, seq - back);
      const events = await Array.fromAsync(this.events.read(sessionId, after, seq));
      if (after === 0 || events.some(({ event }) => event.type === "turn_started")) return events;
    }
  }

  async #forget(
    sessionId: string,
    { messages, shortened = [] }: Pick<TextForgotten, "messages" | "shortened">,
  ): Promise<void> {
    const ids = (seqs: readonly number[]) => seqs.map((seq) => `${sessionId}:${seq}`);
    await this.#memory.delete({ ids: ids([...messages, ...shortened]) });
    if (shortened.length === 0 || !(await this.#isForMemory(sessionId))) return;
    const wanted = new Set(ids(shortened));
    const spans = await this.#spansUpTo(sessionId, Math.max(...shortened));
    const entries = await this.#entriesIn(sessionId, spans);
    await this.#memory.add(
      entries.filter(({ id }) => wanted.has(id)),
      this.events,
    );
  }

  /** Whether a session is for memory: from its start, or since an import asked for it. */
  async #isForMemory(sessionId: string): Promise<boolean> {
    const settings = await this.settingsOf(sessionId);
    if (settings?.memory || !settings?.source) return settings?.memory ?? false;
    const known = this.#remembered.get(sessionId);
    if (known !== undefined) return known;
    let isRemembered = false;
    for await (const { event } of this.events.read(sessionId, 0)) {
      isRemembered ||= event.type === "session_remembered";
    }
    remember(this.#remembered, sessionId, isRemembered);
    return isRemembered;
  }

  /** The parts of a session's log that memory has. */
  async #spansUpTo(sessionId: string, to: number): Promise<readonly DiscardedSpan[]> {
    if (this.#scope === "all") return [{ from: 1, to, turns_before: 0 }];
    const spans: DiscardedSpan[] = [];
    for await (const { event } of this.events.read(sessionId, 0)) {
      if (event.type === "compaction_completed") spans.push(...event.discarded);
    }
    return spans;
  }

  async #entriesIn(sessionId: string, spans: readonly DiscardedSpan[]): Promise<MemoryEntry[]> {
    const entries: MemoryEntry[] = [];
    for (const { from, to, turns_before } of spans) {
      const assembler = new MessageAssembler();
      let turns = turns_before;
      for await (const stored of this.events.read(sessionId, from - 1, to)) {
        const logged = assembler.push(stored);
        if (logged && startsTurn(logged.message)) turns += 1;
        if (logged && isRemembered(stored)) entries.push(...entryOf(sessionId, logged, turns));
      }
    }
    return entries;
  }
}

/** The events of a session's log that remove entries, as far as it was looked at. */
interface Removals {
  readonly to: number;
  readonly found: readonly Removal[];
}

/** Reads the messages of one session, event by event. */
class SessionReader {
  /** `seq` of the last event. */
  seq = 0;
  readonly #assembler = new MessageAssembler();

  /** Takes the next event. Returns the message that it completes, if any. */
  push(stored: StoredEvent): LoggedMessage | undefined {
    this.seq = stored.seq;
    return this.#assembler.push(stored);
  }
}

/** Imported messages say when they are not for memory, such as the summaries of other programs. */
function isRemembered({ event }: StoredEvent): boolean {
  return event.type !== "message_added" || event.memory !== false;
}

/** `turns` is how many turns had begun when the message was complete. */
function entryOf(sessionId: string, logged: LoggedMessage, turns: number): MemoryEntry[] {
  const { id, from, message, origin, timestampMs } = logged;
  const content = indexableText(message);
  if (content.trim() === "" || isForgotten(content)) return [];
  const speaker = speakerOf(origin);
  return [
    {
      id: `${sessionId}:${id}`,
      content,
      sessionId,
      turn: Math.max(0, turns - 1),
      kind: "message",
      time: origin?.time ?? new Date(timestampMs).toISOString(),
      role: message.role === "user" ? "user" : "assistant",
      ...(speaker ? { speaker } : {}),
      source: { from, to: id },
    },
  ];
}
