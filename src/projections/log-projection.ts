import type { SessionSettings } from "../core/event.ts";
import type { EventStore, PositionedEvent } from "../core/event-store.ts";
import type { Projection } from "../core/projection.ts";

const REMEMBERED_MAX = 1000;

/** What projections have in common: a position in the event store, and the settings of sessions. */
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
    await this.project(batch, last.position);
    await this.reached(last.position);
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

/** Adds to a map, and drops its oldest key when it is full. */
export function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > REMEMBERED_MAX && oldest !== undefined) map.delete(oldest);
}
