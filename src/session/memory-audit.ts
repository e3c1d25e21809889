import { type EventStore, isDeleted, type PositionedEvent } from "../core/event-store.ts";
import { given } from "../core/fields.ts";
import type {
  MemoryCheck,
  MemoryEntry,
  MemoryScope,
  MemoryStore,
  Watch,
} from "../core/memory-store.ts";
import type { TrashStores } from "../core/stores.ts";
import { MEMORY_INDEX } from "../projections/log-projection.ts";
import { MemoryIndex } from "../projections/memory-index.ts";
import { redactEntries } from "../secrets/redact-secrets.ts";

const PAGE = 500;
const PROBLEMS_MAX = 100;

/** The stores that are compared. */
interface Audited {
  readonly events: EventStore;
  readonly memory: MemoryStore;
  readonly trash?: TrashStores | undefined;
}

/**
 * Compares memory with the log: every message that the log has for memory is there, as it was said, and no message
 * of a session is there that its log does not have. It can make both alike again.
 *
 * Entries that were added by hand are left alone, unless an edit was cut off between its two steps. So are those of
 * sessions that have no log here: they may come from another store.
 */
export class MemoryAudit {
  readonly #stores: Audited;
  readonly #index: MemoryIndex;
  readonly #scope: MemoryScope;
  /** The messages of each session that are for memory, in or out of the window. */
  readonly #said = new Map<string, Set<string>>();
  #problems: string[] = [];
  #mends = false;
  #count = 0;

  constructor(stores: Audited, scope: MemoryScope = "all") {
    const { events, memory } = stores;
    this.#stores = stores;
    this.#scope = scope;
    this.#index = new MemoryIndex(events, memory, { scope });
  }

  /** Compares without changing anything. */
  check(watch: Watch = {}): Promise<MemoryCheck> {
    return this.#run(watch);
  }

  /** Makes memory what the log says. The problems are those that it had. */
  mend(watch: Watch = {}): Promise<MemoryCheck> {
    this.#mends = true;
    return this.#run(watch);
  }

  async #run({ signal }: Watch): Promise<MemoryCheck> {
    const { events } = this.#stores;
    // Later messages come into memory by themselves.
    const end = await events.checkpoint(MEMORY_INDEX[this.#scope]);
    const all = new MemoryIndex(events, this.#stores.memory);
    for (let position = 0; position < end; ) {
      signal?.throwIfAborted();
      const page = await events.readAll(position, PAGE);
      const batch = page.filter((one) => one.position <= end);
      if (batch.length === 0) break;
      for (const { id, sessionId } of await all.entriesOf(batch)) {
        this.#said.set(sessionId, (this.#said.get(sessionId) ?? new Set()).add(id));
      }
      await this.#compare(batch);
      position = batch.at(-1)?.position ?? end;
    }
    await this.#compareBack(signal);
    await this.#compareEdits(signal);
    return { entries: this.#count, problems: this.#problems.slice(0, PROBLEMS_MAX) };
  }

  /** Whether memory has what these events say. */
  async #compare(batch: readonly PositionedEvent[]): Promise<void> {
    const { memory } = this.#stores;
    const wanted = redactEntries(await this.#index.entriesOf(batch));
    this.#count += wanted.length;
    const there = await this.#read(wanted.map(({ id }) => id));
    const wrong = wanted.filter((entry) => !isSame(entry, there.get(entry.id)));
    const found: string[] = [];
    for (const entry of wrong) {
      const present = there.get(entry.id);
      if (await this.#isOutdated(entry)) continue;
      found.push(entry.id);
      this.#note(
        present
          ? `The memory of ${messageOf(entry)} is not what its log says.`
          : `Memory lacks ${messageOf(entry)}.`,
      );
    }
    if (!this.#mends || found.length === 0) return;
    await memory.delete({ ids: found });
    await this.#index.fill(batch);
    for (const id of found) {
      const { keeps } = there.get(id) ?? {};
      if (keeps) await memory.mark?.(id, { keeps });
    }
  }

  /** It was forgotten, or its session deleted, while it was compared. */
  async #isOutdated({ id, sessionId, source }: MemoryEntry): Promise<boolean> {
    if (!source || (await isDeleted(sessionId, this.#stores.events))) return true;
    const [now] = redactEntries(await this.#index.entriesBetween(sessionId, source));
    return isSame(now, (await this.#read([id])).get(id));
  }

  async #read(ids: readonly string[]): Promise<ReadonlyMap<string, MemoryEntry>> {
    const entries = ids.length === 0 ? [] : await this.#stores.memory.read(ids);
    return new Map(entries.map((entry) => [entry.id, entry]));
  }

  /** Whether the log has what memory has. */
  async #compareBack(signal: AbortSignal | undefined): Promise<void> {
    const { memory } = this.#stores;
    const extra: string[] = [];
    for (let after: string | undefined; ; ) {
      signal?.throwIfAborted();
      const page = await memory.list({ kind: "message", limit: PAGE, ...given({ after }) });
      for (const entry of page) {
        const { id, sessionId, source } = entry;
        if (this.#said.get(sessionId)?.has(id) || !id.startsWith(`${sessionId}:`)) continue;
        const isExtra = this.#said.has(sessionId)
          ? (await this.#index.entriesBetween(sessionId, source ?? NOTHING)).length === 0
          : await this.#isLeft(sessionId);
        if (!isExtra) continue;
        extra.push(id);
        this.#note(`Memory has ${messageOf(entry)}, and the log does not.`);
      }
      const last = page.at(-1);
      if (!last || page.length < PAGE) break;
      after = last.id;
    }
    for (let at = 0; this.#mends && at < extra.length; at += PAGE) {
      await memory.delete({ ids: extra.slice(at, at + PAGE) });
    }
  }

  /** Whether what was edited is there beside what replaced it: the process that edited it was killed. */
  async #compareEdits(signal: AbortSignal | undefined): Promise<void> {
    const { memory } = this.#stores;
    for (let after: string | undefined; ; ) {
      signal?.throwIfAborted();
      const page = await memory.list({ marked: true, limit: PAGE, ...given({ after }) });
      for (const { id, earlier = [] } of page) {
        const replaced = new Map(earlier.map((text) => [text.id, text.until]));
        // The same text may have been added again since.
        const left = (await memory.read([...replaced.keys()])).filter(
          (entry) => entry.id !== id && (entry.time ?? "") <= (replaced.get(entry.id) ?? ""),
        );
        for (const entry of left) this.#note(`Memory has ${entry.id}, which ${id} replaced.`);
        if (this.#mends && left.length > 0) {
          await memory.delete({ ids: left.map((entry) => entry.id) });
        }
      }
      const last = page.at(-1);
      if (!last || page.length < PAGE) return;
      after = last.id;
    }
  }

  /** Whether a session is in the trash, which nothing in memory is of. */
  async #isLeft(sessionId: string): Promise<boolean> {
    const { trash, events } = this.#stores;
    const isThere = (await events.lastSeq(sessionId)) > 0;
    return !isThere && (await trash?.sessions.load(sessionId)) !== undefined;
  }

  #note(problem: string): void {
    if (this.#problems.length < PROBLEMS_MAX) this.#problems.push(problem);
  }
}

/** No event of a log. */
const NOTHING = { from: 1, to: 0 };

function messageOf({ id, sessionId }: MemoryEntry): string {
  return `message ${id.slice(sessionId.length + 1)} of session ${sessionId}`;
}

/** Whether two entries have the same words, of the same side, said at the same time and place. */
function isSame(one: MemoryEntry | undefined, other: MemoryEntry | undefined): boolean {
  const said = ({ content, role, turn, time, source }: MemoryEntry) =>
    JSON.stringify([content.toWellFormed(), role, turn, time, source?.from, source?.to]);
  return one && other ? said(one) === said(other) : one === other;
}
