import type { NewEvent, StoredEvent } from "../../core/event.ts";
import { plainEvent } from "../../core/event-shape.ts";
import type {
  Backlog,
  EventStore,
  HistoryHit,
  HistoryQuery,
  IndexedKind,
  KindsRange,
  PositionedEvent,
  Redaction,
  RepairedEvent,
} from "../../core/event-store.ts";
import type { HeldLease } from "../../core/session-store.ts";
import { checkMethods } from "../../core/store-arguments.ts";
import { readableEvents, storedEvent } from "../history/stored-event.ts";
import type { CommandResult } from "./commands.ts";
import { type Database, wipe } from "./database-over.ts";

/** Keeps events in a SQLite file that several processes may have open at once. */
export class SqliteEventStore implements EventStore {
  static {
    checkMethods("events", SqliteEventStore);
  }
  readonly #database: Database;
  readonly #namespace: string;

  /** Closing the store closes the database. */
  constructor(database: Database, options: { readonly namespace?: string } = {}) {
    this.#database = database;
    this.#namespace = options.namespace ?? "default";
  }

  /** Whether it is in this database, whose commits are in one order: none outlives an earlier one. */
  isIn(database: Database): boolean {
    return database === this.#database;
  }

  async append(
    sessionId: string,
    lastSeq: number,
    events: readonly NewEvent[],
    held?: HeldLease,
  ): Promise<number> {
    const plain = events.map(plainEvent);
    return await this.#database.run(
      "appendEvents",
      this.#namespace,
      sessionId,
      lastSeq,
      plain,
      held,
    );
  }

  lastSeq(sessionId: string): Promise<number> {
    return this.#database.run("lastSeq", this.#namespace, sessionId);
  }

  async *read(
    sessionId: string,
    afterSeq: number,
    toSeq: number = Number.MAX_SAFE_INTEGER,
  ): AsyncIterable<StoredEvent> {
    for (let after = afterSeq, more = true; more; ) {
      const page = await this.#database.run("readEvents", this.#namespace, sessionId, after, toSeq);
      for (const row of page.events) yield storedEvent(row);
      after = page.events.at(-1)?.seq ?? after;
      more = page.more;
    }
  }

  async readKinds(
    sessionId: string,
    kinds: readonly IndexedKind[],
    range: KindsRange,
  ): Promise<readonly StoredEvent[]> {
    const rows = await this.#database.run("readKinds", this.#namespace, sessionId, kinds, range);
    return rows.map(storedEvent).reverse();
  }

  turnsAt(sessionId: string, seq: number): Promise<number> {
    return this.#database.run("turnsAt", this.#namespace, sessionId, seq);
  }

  async readAll(afterPosition: number, limit: number): Promise<readonly PositionedEvent[]> {
    for (let after = afterPosition; ; ) {
      const rows = await this.#database.run("readAllEvents", this.#namespace, after, limit);
      const events = readableEvents(rows);
      if (events.length > 0 || rows.length === 0) return events;
      after = rows.at(-1)?.position ?? after;
    }
  }

  backlog(afterPosition: number): Promise<Backlog> {
    return this.#database.run("backlog", this.#namespace, afterPosition);
  }

  search(query: HistoryQuery): Promise<readonly HistoryHit[]> {
    return this.#database.run("searchEvents", this.#namespace, query);
  }

  checkpoint(projection: string): Promise<number> {
    return this.#database.run("checkpoint", this.#namespace, projection);
  }

  saveCheckpoint(projection: string, position: number): Promise<void> {
    return this.#database.run("saveCheckpoint", this.#namespace, projection, position);
  }

  async delete(sessionId: string): Promise<void> {
    if (!(await this.#database.run("hideEvents", this.#namespace, sessionId))) return;
    while (await this.#database.run("purgeEvents"));
    await this.#wipe();
  }

  async redact(
    sessionId: string,
    lastSeq: number,
    redactions: readonly Redaction[],
    told: NewEvent,
  ): Promise<number> {
    const last = await this.#database.run(
      "redactEvents",
      this.#namespace,
      sessionId,
      lastSeq,
      redactions,
      told,
    );
    await this.#wipe();
    return last;
  }

  async repair(): Promise<readonly RepairedEvent[]> {
    const all: RepairedEvent[] = [];
    for (let position: number | undefined = 0; position !== undefined; ) {
      const { repaired, after }: CommandResult<"repairEvents"> = await this.#database.run(
        "repairEvents",
        this.#namespace,
        position,
      );
      all.push(...repaired);
      position = after;
    }
    return all;
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  /** Takes what was deleted out of the files, too. */
  async #wipe(): Promise<void> {
    for (let first = true; await this.#database.run("mergeEventText", first); ) first = false;
    await wipe(this.#database);
  }
}
