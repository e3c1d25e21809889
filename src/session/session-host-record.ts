import { SessionError } from "../core/errors.ts";
import type { EventStore } from "../core/event-store.ts";
import type { HostChange, HostItems, HostRecord, ReadHostItem } from "../core/host-record.ts";
import { WorkQueue } from "../core/work-queue.ts";
import { FoldedHostItems } from "./host-items.ts";
import type { SessionWork } from "./session-work.ts";

interface Deps {
  readonly events: Pick<EventStore, "lastSeq" | "read">;
  readonly work: Pick<SessionWork, "runAfterTurn">;
  /** Creates the session. */
  readonly create: () => Promise<unknown>;
}

/** The list of a host's items in a session's log. The session is created when the list first changes. */
export class SessionHostRecord implements HostRecord {
  readonly #sessionId: string;
  readonly #read: ReadHostItem;
  readonly #deps: Deps;
  #items: FoldedHostItems;
  /** Changes and reads of this process come one after the other. */
  readonly #changes = new WorkQueue();

  constructor(sessionId: string, read: ReadHostItem, deps: Deps) {
    this.#sessionId = sessionId;
    this.#read = read;
    this.#deps = deps;
    this.#items = new FoldedHostItems(read);
  }

  read(): Promise<HostItems> {
    return this.#changes.run(() => this.#caughtUp());
  }

  change(decide: (now: HostItems) => HostChange | undefined): Promise<void> {
    return this.#changes.run(async () => {
      if ((await this.#deps.events.lastSeq(this.#sessionId)) === 0) await this.#create();
      await this.#deps.work.runAfterTurn(this.#sessionId, async (session) => {
        const items = await this.#caughtUp();
        const change = decide(items);
        if (change) await session.commit(items.eventsOf(change));
      });
    });
  }

  async #caughtUp(): Promise<FoldedHostItems> {
    const { events } = this.#deps;
    const lastSeq = await events.lastSeq(this.#sessionId);
    if (lastSeq < this.#items.seq) this.#items = new FoldedHostItems(this.#read);
    for await (const stored of events.read(this.#sessionId, this.#items.seq)) {
      this.#items.apply(stored);
    }
    if (!this.#items.isOutdated) return this.#items;
    this.#items = new FoldedHostItems(this.#read);
    for await (const stored of events.read(this.#sessionId, 0)) this.#items.apply(stored);
    this.#items.isOutdated = false;
    return this.#items;
  }

  /** Of two processes that create the session at once, one does. */
  async #create(): Promise<void> {
    try {
      await this.#deps.create();
    } catch (error) {
      if (!SessionError.is(error) || error.code !== "SESSION_CONFLICT") throw error;
    }
  }
}
