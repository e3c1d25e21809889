import type { SessionSettings } from "../core/event.ts";
import { isUnreadable } from "../core/event-shape.ts";
import type { Backlog, EventStore, PositionedEvent, Projection } from "../core/event-store.ts";
import type { KnowledgeStore } from "../core/knowledge-store.ts";
import type { MemoryLag, MemoryScope } from "../core/memory-store.ts";

const REMEMBERED_MAX = 1000;

/** The common part of projections: a position in the event store, and the settings of sessions. */
export abstract class LogProjection implements Projection {
  abstract readonly name: string;
  protected readonly events: EventStore;
  readonly #settings = new Map<string, SessionSettings>();

  constructor(events: EventStore) {
    this.events = events;
  }

  position(): Promise<number> {
    return this.events.checkpoint(this.name);
  }

  async apply(batch: readonly PositionedEvent[]): Promise<void> {
    const last = batch.at(-1);
    if (!last) return;
    for (const { sessionId, stored } of batch) {
      const { event } = stored;
      if (event.type === "session_created") remember(this.#settings, sessionId, event.settings);
    }
    try {
      await this.project(batch, last.position);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      await this.#projectReadable(batch);
    }
    await this.reached(last.position);
  }

  /** One event at a time. What needs an event that cannot be read is left out, so that no session waits for another. */
  async #projectReadable(batch: readonly PositionedEvent[]): Promise<void> {
    for (const one of batch) {
      try {
        await this.project([one], one.position);
      } catch (error) {
        if (!isUnreadable(error)) throw error;
        await this.project([], one.position);
      }
    }
  }

  /** Does the work. `position` is that of the last event. */
  protected abstract project(batch: readonly PositionedEvent[], position: number): Promise<void>;

  protected reached(position: number): Promise<void> {
    return this.events.saveCheckpoint(this.name, position);
  }

  /** The settings that a session was created with. They are in its first event. */
  protected async settingsOf(sessionId: string): Promise<SessionSettings | undefined> {
    const known = this.#settings.get(sessionId);
    if (known) return known;
    for await (const { event } of this.events.read(sessionId, 0, 1)) {
      if (event.type !== "session_created") return undefined;
      remember(this.#settings, sessionId, event.settings);
      return event.settings;
    }
    return undefined;
  }
}

/** The part of the log that memory lacks; undefined when it lacks nothing. */
export async function memoryLag(
  events: Pick<EventStore, "checkpoint" | "readAll" | "backlog">,
  scope: MemoryScope,
): Promise<MemoryLag | undefined> {
  const position = await events.checkpoint(MEMORY_INDEX[scope]);
  const { events: count, oldestMs } = events.backlog
    ? await events.backlog(position)
    : backlogIn(await events.readAll(position, READ_BACK_MAX));
  if (count === 0 || oldestMs === undefined) return undefined;
  return { events: count, seconds: Math.max(0, Math.round((Date.now() - oldestMs) / 1000)) };
}

/** Events of a store that cannot count them. */
const READ_BACK_MAX = 1000;

function backlogIn(events: readonly PositionedEvent[]): Backlog {
  return { events: events.length, oldestMs: events[0]?.stored.timestamp_ms };
}

/** Adds to a map, and drops its oldest key when it is full. */
export function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > REMEMBERED_MAX && oldest !== undefined) map.delete(oldest);
}

/** More are read from the log when they are needed. */
const RECENT_MAX = 10_000;

/**
 * The log for a projection whose process has just written to it. The events are still in memory, so they are not read
 * and parsed again.
 */
export class RecentEvents implements Pick<EventStore, "readAll"> {
  readonly #log: Pick<EventStore, "readAll">;
  /** In the order of their positions. */
  #recent: PositionedEvent[] = [];
  /** The first and the last event that this process wrote, by session, without another writer's in between. */
  readonly #written = new Map<string, { readonly from: number; readonly to: number }>();

  constructor(log: Pick<EventStore, "readAll">) {
    this.#log = log;
  }

  /** Adds events that were stored. Between their positions is no other event. */
  add(events: readonly PositionedEvent[]): void {
    for (const { sessionId, stored } of events) {
      const known = this.#written.get(sessionId);
      const from = known && known.to + 1 === stored.seq ? known.from : stored.seq;
      remember(this.#written, sessionId, { from, to: stored.seq });
    }
    const last = this.#recent.at(-1)?.position ?? 0;
    const isNext = (events[0]?.position ?? 0) > last;
    if (isNext && this.#recent.length + events.length <= RECENT_MAX) this.#recent.push(...events);
  }

  async readAll(afterPosition: number, limit: number): Promise<readonly PositionedEvent[]> {
    const start = this.#recent.findIndex(({ position }) => position > afterPosition);
    this.#recent.splice(0, start < 0 ? this.#recent.length : start);
    const isNext = ({ position }: PositionedEvent, at: number) =>
      position === afterPosition + 1 + at;
    const count = this.#recent.findIndex((event, at) => at === limit || !isNext(event, at));
    if (count === 0 || this.#recent.length === 0) {
      return await this.#log.readAll(afterPosition, limit);
    }
    return this.#recent.slice(0, count < 0 ? this.#recent.length : count);
  }

  /** The last event of a session, when this process wrote it and everything behind `seq`. */
  writtenTo(sessionId: string, seq: number): number | undefined {
    const written = this.#written.get(sessionId);
    return written && written.from <= seq + 1 ? written.to : undefined;
  }
}

/** The names of the memory index's checkpoints. A store whose setting changes has a place in the log for each. */
export const MEMORY_INDEX: Readonly<Record<MemoryScope, string>> = {
  all: "memory-of-all",
  discarded: "memory-index",
};

/**
 * Whether the log has events that memory, or the knowledge store, does not have yet.
 *
 * It has a file of its own, because a search asks it every time. The projections take longer to
 * load than a search takes, and are hardly ever needed for it.
 */
export async function isMemoryBehind(
  events: Pick<EventStore, "checkpoint" | "readAll">,
  scope: MemoryScope,
  knowledge?: Pick<KnowledgeStore, "position">,
): Promise<boolean> {
  const memoryAt = await events.checkpoint(MEMORY_INDEX[scope]);
  const knowledgeAt = knowledge ? await knowledge.position() : memoryAt;
  return (await events.readAll(Math.min(memoryAt, knowledgeAt), 1)).length > 0;
}
