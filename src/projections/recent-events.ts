import type { EventStore, PositionedEvent } from "../core/event-store.ts";
import { remember } from "./log-projection.ts";

/** More are read from the log when they are needed. */
const RECENT_MAX = 10_000;

/**
 * The log for a projection whose process has just written to it. What was written is still here, so it is not read
 * and parsed again.
 */
export class RecentEvents implements Pick<EventStore, "readAll"> {
  readonly #log: Pick<EventStore, "readAll">;
  /** In the order of their positions. */
  #recent: PositionedEvent[] = [];
  /** By session: the first and the last event that this process wrote, with nothing of others in between. */
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
