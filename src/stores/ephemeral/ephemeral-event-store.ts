import { SessionError } from "../../core/errors.ts";
import type { DurableEvent, NewEvent, StoredEvent } from "../../core/event.ts";
import { jsonOf, plainEvent } from "../../core/event-shape.ts";
import {
  BACKLOG_MAX,
  type Backlog,
  type EventStore,
  type HistoryHit,
  type HistoryQuery,
  type IndexedKind,
  type KindsRange,
  type PositionedEvent,
  type Redaction,
} from "../../core/event-store.ts";
import { checkMethods } from "../../core/store-arguments.ts";
import { beginsTurn } from "../../core/turn.ts";
import { searchHistory } from "../history/search-history.ts";

/** Keeps events in this process only. The first implementation to read. */
export class EphemeralEventStore implements EventStore {
  static {
    checkMethods("events", EphemeralEventStore);
  }
  readonly #sessions = new Map<string, PositionedEvent[]>();
  /** By position, which is one more than the index. What was deleted leaves a hole. */
  readonly #all: (PositionedEvent | undefined)[] = [];
  readonly #checkpoints = new Map<string, number>();

  async append(sessionId: string, lastSeq: number, events: readonly NewEvent[]): Promise<number> {
    const log = this.#sessions.get(sessionId) ?? [];
    if (log.length !== lastSeq) {
      throw new SessionError("SESSION_CONFLICT", {
        detail: `Its log ends at ${log.length}, not at ${lastSeq}.`,
      });
    }
    const added = events.map(plainEvent);
    if (added.length > 0) this.#sessions.set(sessionId, log);
    let turns = log.at(-1)?.turns ?? 0;
    for (const one of added) {
      if (beginsTurn(one.event)) turns += 1;
      const stored: StoredEvent = { ...one, seq: log.length + 1, schema_version: 1 };
      const position = this.#all.length + 1;
      const positioned = { position, sessionId, stored, turns };
      log.push(positioned);
      this.#all.push(positioned);
    }
    return log.length;
  }

  async lastSeq(sessionId: string): Promise<number> {
    return this.#sessions.get(sessionId)?.length ?? 0;
  }

  async *read(sessionId: string, afterSeq: number, toSeq?: number): AsyncIterable<StoredEvent> {
    const log = this.#sessions.get(sessionId) ?? [];
    for (const { stored } of log.slice(afterSeq, toSeq)) yield stored;
  }

  async readKinds(
    sessionId: string,
    kinds: readonly IndexedKind[],
    { afterSeq, toSeq, limit }: KindsRange,
  ): Promise<readonly StoredEvent[]> {
    const wanted: ReadonlySet<string> = new Set(kinds);
    const log = (this.#sessions.get(sessionId) ?? []).slice(afterSeq, Math.max(0, toSeq));
    const found = log.filter(({ stored }) => wanted.has(stored.event.type));
    return found.slice(-limit).map(({ stored }) => stored);
  }

  async turnsAt(sessionId: string, seq: number): Promise<number> {
    return this.#sessions.get(sessionId)?.[seq - 1]?.turns ?? 0;
  }

  async readAll(afterPosition: number, limit: number): Promise<readonly PositionedEvent[]> {
    const page: PositionedEvent[] = [];
    for (let index = afterPosition; index < this.#all.length && page.length < limit; index += 1) {
      const event = this.#all[index];
      if (event) page.push(event);
    }
    return page;
  }

  async backlog(afterPosition: number): Promise<Backlog> {
    const page = await this.readAll(afterPosition, BACKLOG_MAX);
    return { events: page.length, oldestMs: page[0]?.stored.timestamp_ms };
  }

  async search(query: HistoryQuery): Promise<readonly HistoryHit[]> {
    const sessions =
      query.sessionId === undefined
        ? [...this.#sessions.values()]
        : [this.#sessions.get(query.sessionId) ?? []];
    return searchHistory(sessions.flat(), query);
  }

  async checkpoint(projection: string): Promise<number> {
    return this.#checkpoints.get(projection) ?? 0;
  }

  async saveCheckpoint(projection: string, position: number): Promise<void> {
    const reached = this.#checkpoints.get(projection) ?? 0;
    this.#checkpoints.set(projection, position === 0 ? 0 : Math.max(reached, position));
  }

  async delete(sessionId: string): Promise<void> {
    for (const { position } of this.#sessions.get(sessionId) ?? []) {
      this.#all[position - 1] = undefined;
    }
    this.#sessions.delete(sessionId);
  }

  async redact(
    sessionId: string,
    lastSeq: number,
    redactions: readonly Redaction[],
    told: NewEvent,
  ): Promise<number> {
    const log = this.#sessions.get(sessionId) ?? [];
    for (const { seq, event } of redactions) {
      if (log[seq - 1]?.stored.event.type === event.type) continue;
      throw new SessionError("SESSION_CONFLICT", { detail: `Event ${seq} is no ${event.type}.` });
    }
    const written = redactions.map(({ seq, event }) => ({
      seq,
      event: JSON.parse(jsonOf(event)) as DurableEvent,
    }));
    const last = await this.append(sessionId, lastSeq, [told]);
    for (const { seq, event } of written) {
      const { position, stored: before, turns } = log[seq - 1] as PositionedEvent;
      const stored = { ...before, event };
      const redacted = { position, sessionId, stored, turns };
      log[seq - 1] = redacted;
      this.#all[position - 1] = redacted;
    }
    return last;
  }

  async close(): Promise<void> {}
}
