import { isDeepStrictEqual } from "node:util";
import type { ApprovalAnswer } from "../core/approval.ts";
import { SessionError } from "../core/errors.ts";
import type { StoredEvent } from "../core/event.ts";
import { isDeleted, type PositionedEvent } from "../core/event-store.ts";
import { given } from "../core/fields.ts";
import { newId } from "../core/ids.ts";
import type { KnowledgeCopy, KnowledgeStore } from "../core/knowledge-store.ts";
import type { MemoryEntry, MemoryStore } from "../core/memory-store.ts";
import type { Stores, TrashStores } from "../core/stores.ts";
import { pendingApproval } from "../projections/approval-index.ts";
import { MEMORY_INDEX } from "../projections/log-projection.ts";
import { redactEntries } from "../secrets/redact-secrets.ts";
import { compareLogs, LogCopy } from "./copy-log.ts";

/** The contents of both stores after a move. */
export interface MoveCounts {
  readonly sessions: number;
  readonly events: number;
  readonly memories: number;
  readonly knowledge: number;
  readonly imported: number;
  /** Sessions in the trash. */
  readonly deleted: number;
}

type NamespaceStores = Omit<Stores, "forUser" | "users" | "close">;

interface NamespaceMoveOptions {
  readonly signal?: AbortSignal;
  readonly advance: (entries: number) => void;
}

/** A source that keeps growing is copied in at most this many rounds. */
const ROUNDS_MAX = 10;
const PAGE = 1000;

/** A position beyond every event, so no process records knowledge from events that arrive. */
const UNDER_WAY = Number.MAX_SAFE_INTEGER;

/** The checkpoint that keeps the knowledge store's position while a move is under way; 1 for an empty store. */
const MOVE_MARK = "move";
const EMPTY = 1;

/** Projections with a checkpoint in the log. Doing their work twice changes nothing. */
const PROJECTIONS = [MEMORY_INDEX.all, MEMORY_INDEX.discarded, "approvals", "retention"];

/** Copies the stores of one namespace, and compares both at the end. */
export class NamespaceMove {
  readonly #from: NamespaceStores;
  readonly #to: NamespaceStores;
  readonly #signal: AbortSignal | undefined;
  readonly #advance: (entries: number) => void;
  readonly #log: LogCopy;
  /** The event that requested each waiting call, by approval id. */
  readonly #waiting = new Map<string, { readonly sessionId: string; readonly seq: number }>();

  constructor(from: NamespaceStores, to: NamespaceStores, options: NamespaceMoveOptions) {
    this.#from = from;
    this.#to = to;
    this.#signal = options.signal;
    this.#advance = options.advance;
    this.#log = new LogCopy(from.events, to.events, {
      copied: (page) => this.#followApprovals(page),
      forgetting: (sessionId, event) => this.#forget(sessionId, event),
    });
  }

  async run(): Promise<MoveCounts> {
    const mark = await this.#begin();
    for (let round = 1; ; round += 1) {
      // Read before the log, so that every event they have seen is copied.
      const knowledge = await this.#from.knowledge.copy();
      const checkpoints = await this.#checkpoints();
      const { changed, counts } = await this.#copy(knowledge);
      if (changed > 0 && round < ROUNDS_MAX) continue;
      await this.#finish(mark, knowledge, checkpoints);
      return { ...counts, knowledge: knowledge.entries.length };
    }
  }

  /** Keeps the other store from learning a second time what the source has learned. */
  async #begin(): Promise<number> {
    const { events, knowledge } = this.#to;
    const marked = await events.checkpoint(MOVE_MARK);
    if (marked > 0 && (await knowledge.position()) === UNDER_WAY) return marked;
    const position = await knowledge.position();
    const isEmpty = (await events.readAll(0, 1)).length === 0;
    const learns = (await this.#from.knowledge.position()) > 0;
    if (learns && (await this.#hasOwnAfter(position))) {
      throw new SessionError("NOT_POSSIBLE", {
        message: "The other store has not yet learned from all of its own sessions.",
        hint: "Run `rkat knowledge list` on that store, then move again.",
      });
    }
    const mark = isEmpty ? EMPTY : 2 + position;
    await events.saveCheckpoint(MOVE_MARK, 0);
    await events.saveCheckpoint(MOVE_MARK, mark);
    await knowledge.restore({ position: UNDER_WAY, entries: [], forgotten: [] });
    return mark;
  }

  /** Whether the other store has events after the position that this one does not have. */
  async #hasOwnAfter(position: number): Promise<boolean> {
    const known = new Map<string, number>();
    for (let after = position; ; ) {
      const page = await this.#to.events.readAll(after, PAGE);
      const last = page.at(-1);
      if (!last) return false;
      for (const { sessionId, stored } of page) {
        const lastSeq = known.get(sessionId) ?? (await this.#lastSeqOf(sessionId));
        known.set(sessionId, lastSeq);
        if (stored.seq > lastSeq) return true;
      }
      after = last.position;
    }
  }

  /** The last sequence number of a session of the source, or of its trash. */
  async #lastSeqOf(sessionId: string): Promise<number> {
    const { events, trash } = this.#from;
    return (await events.lastSeq(sessionId)) || ((await trash?.events.lastSeq(sessionId)) ?? 0);
  }

  async #checkpoints(): Promise<readonly number[]> {
    return await Promise.all(PROJECTIONS.map((name) => this.#from.events.checkpoint(name)));
  }

  async #copy(
    knowledge: KnowledgeCopy,
  ): Promise<{ readonly changed: number; readonly counts: Omit<MoveCounts, "knowledge"> }> {
    const { forgotten, trash } = this.#from;
    if (forgotten) await this.#to.forgotten?.restore(await forgotten.copy());
    const appended = await this.#log.run(this.#signal);
    const deleted = trash && this.#to.trash ? await this.#copyTrash(trash, this.#to.trash) : 0;
    const sessions = await this.#copySnapshots();
    await this.#copyApprovals();
    await this.#to.knowledge.restore({ ...knowledge, position: UNDER_WAY });
    const memory = await copyMemory(this.#from, this.#to.memory, {
      copied: this.#advance,
      ...given({ signal: this.#signal }),
    });
    const imported = await this.#copyImports();
    return {
      changed: appended + memory.changed,
      counts: { sessions, events: this.#log.events, memories: memory.entries, imported, deleted },
    };
  }

  async #copySnapshots(): Promise<number> {
    let sessions = 0;
    for (const id of this.#log.sessionIds) {
      this.#signal?.throwIfAborted();
      const snapshot = await this.#from.sessions.load(id);
      if (!snapshot) continue;
      if (!isDeepStrictEqual(await this.#to.sessions.load(id), snapshot)) {
        await this.#to.sessions.save(snapshot);
      }
      sessions += 1;
    }
    return sessions;
  }

  async #followApprovals(page: readonly PositionedEvent[]): Promise<void> {
    const resolved: string[] = [];
    for (const { sessionId, stored } of page) {
      const { event, seq } = stored;
      if (event.type === "tool_approval_requested") {
        this.#waiting.set(event.approval_id, { sessionId, seq });
      } else if (event.type === "tool_approval_resolved") {
        this.#waiting.delete(event.approval_id);
        resolved.push(event.approval_id);
      }
    }
    if (resolved.length > 0) await this.#to.approvals.remove({ approvalIds: resolved });
    this.#advance(page.length);
  }

  async #copyApprovals(): Promise<void> {
    const ids = [...this.#waiting.keys()];
    if (ids.length === 0) return;
    const answers = await this.#from.approvals.answers(ids);
    for (const [id, { sessionId, seq }] of this.#waiting) {
      for await (const { event, timestamp_ms } of this.#from.events.read(sessionId, seq - 1, seq)) {
        if (event.type !== "tool_approval_requested") continue;
        const call = pendingApproval(sessionId, event, timestamp_ms);
        await this.#to.approvals.add([call]);
        await this.#to.approvals.replace([call]);
        const answer: ApprovalAnswer | undefined = answers.get(id);
        if (answer) await this.#to.approvals.answer(id, sessionId, answer);
      }
    }
  }

  /** Deletes the entries of memory that are about to lose text. Their remaining text is copied again. */
  async #forget(sessionId: string, event: StoredEvent["event"]): Promise<void> {
    if (event.type !== "text_forgotten") return;
    const ids = [...event.messages, ...(event.shortened ?? [])].map((seq) => `${sessionId}:${seq}`);
    await this.#to.memory.delete({ ids });
  }

  /** Also repeats in the other store the deletions and restorations made here since an earlier move. */
  async #copyTrash(from: TrashStores, to: TrashStores): Promise<number> {
    const deleted = await from.sessions.list({ includeArchived: true });
    const ids = new Set(deleted.map(({ id }) => id));
    for (const { id } of await to.sessions.list({ includeArchived: true })) {
      if (ids.has(id) || (await this.#from.events.lastSeq(id)) === 0) continue;
      await to.events.delete(id);
      await to.sessions.delete(id);
    }
    const log = new LogCopy(from.events, to.events);
    await log.run(this.#signal);
    const { different } = await compareLogs(from.events, to.events, log.position, [], this.#signal);
    requireSame(different);
    for (const snapshot of deleted) {
      await to.sessions.save(snapshot);
      if ((await this.#from.events.lastSeq(snapshot.id)) > 0) continue;
      if ((await this.#to.events.lastSeq(snapshot.id)) > 0) await this.#deleteThere(snapshot.id);
    }
    return deleted.length;
  }

  async #deleteThere(sessionId: string): Promise<void> {
    const { memory, knowledge, approvals, sessions, events } = this.#to;
    const last = await events.lastSeq(sessionId);
    const event = { type: "session_deleted" as const, session_id: sessionId };
    const told = { event_id: newId(), timestamp_ms: Date.now(), event };
    // From here on the other store does the rest, if this move is stopped.
    if (!(await isDeleted(sessionId, events))) await events.append(sessionId, last, [told]);
    await sessions.delete(sessionId);
    await memory.delete({ sessionId });
    await knowledge.deleteSession(sessionId);
    await approvals.remove({ sessionId });
    await events.delete(sessionId);
  }

  async #copyImports(): Promise<number> {
    const { imports } = this.#from;
    let count = 0;
    for (let after = ""; ; ) {
      this.#signal?.throwIfAborted();
      const keys = await imports.keys(after, PAGE);
      if (keys.length === 0) break;
      await this.#to.imports.restore(keys);
      count += keys.length;
      after = keys.at(-1) as string;
    }
    const there = await this.#to.imports.files();
    for (const [path, file] of await imports.files()) {
      if (!isDeepStrictEqual(there.get(path), file)) {
        await this.#to.imports.commit([], new Map([[path, file]]));
      }
    }
    return count;
  }

  /** Compares both, and lets the other store's projections go on after the moved events. */
  async #finish(
    mark: number,
    knowledge: KnowledgeCopy,
    checkpoints: readonly number[],
  ): Promise<void> {
    const { events } = this.#to;
    const { different, positions } = await compareLogs(
      this.#from.events,
      events,
      this.#log.position,
      [knowledge.position, ...checkpoints],
      this.#signal,
    );
    requireSame(different);
    await this.#requireKnowledge(knowledge);
    const [learnedTo = 0, ...reached] = positions;
    // A store that had sessions of its own does this work again: it changes nothing.
    for (const [index, position] of mark === EMPTY ? reached.entries() : []) {
      const name = PROJECTIONS[index];
      if (name && position > 0) await events.saveCheckpoint(name, position);
    }
    const before = mark === EMPTY ? 0 : mark - 2;
    await this.#to.knowledge.restore({ ...knowledge, position: Math.max(learnedTo, before) });
    await events.saveCheckpoint(MOVE_MARK, 0);
  }

  /** Each entry is there, or another one that says the same, or it was forgotten there. */
  async #requireKnowledge({ entries, forgotten }: KnowledgeCopy): Promise<void> {
    const there = await this.#to.knowledge.copy();
    const ids = new Set(there.entries.map(({ entry }) => entry.id));
    const hashes = new Set([...there.forgotten, ...there.entries.flatMap(({ keys }) => keys)]);
    const isThere = entries.every(
      ({ entry, keys }) => ids.has(entry.id) || keys.some((key) => hashes.has(key)),
    );
    if (isThere && forgotten.every((hash) => hashes.has(hash))) return;
    throw notTheSame("What the project has learned is not the same in both stores.");
  }
}

function requireSame(different: readonly string[]): void {
  const [first] = different;
  if (first === undefined) return;
  const more = different.length > 1 ? ` (and ${different.length - 1} more)` : "";
  throw notTheSame(`The session "${first}"${more} is not the same in both stores.`);
}

function notTheSame(detail: string): SessionError {
  return new SessionError("SESSION_STORE_ERROR", {
    detail,
    hint: "Run the same command again. If it fails again, nothing is lost: the first store is unchanged.",
  });
}

const MEMORY_PAGE = 200;

interface MemoryCopy {
  /** Entries that both memories have now. */
  readonly entries: number;
  /** How many of them were missing there, or different. */
  readonly changed: number;
}

/**
 * Copies the entries of a memory, with their ids. Those of the knowledge store are left out: the other
 * store adds its own when it hears of its knowledge.
 */
async function copyMemory(
  from: { readonly memory: MemoryStore; readonly knowledge: KnowledgeStore },
  to: MemoryStore,
  { signal, copied }: { readonly signal?: AbortSignal; readonly copied: (entries: number) => void },
): Promise<MemoryCopy> {
  let entries = 0;
  let changed = 0;
  for (let after: string | undefined; ; ) {
    signal?.throwIfAborted();
    const page = await from.memory.list({ limit: MEMORY_PAGE, ...given({ after }) });
    if (page.length === 0) {
      const isEnd = after === undefined || (await from.memory.read([after])).length > 0;
      if (isEnd) return { entries, changed };
      // A list does not know the place of an entry that was deleted meanwhile.
      entries = 0;
      after = undefined;
      continue;
    }
    after = page.at(-1)?.id;
    const own = redactEntries(await withoutKnowledge(page, from.knowledge));
    const there = new Map((await to.read(own.map(({ id }) => id))).map((one) => [one.id, one]));
    const missing = own.filter((entry) => !isDeepStrictEqual(there.get(entry.id), entry));
    const old = missing.filter(({ id }) => there.has(id));
    if (old.length > 0) await to.delete({ ids: old.map(({ id }) => id) });
    if (missing.length > 0) await to.add(missing);
    entries += own.length;
    changed += missing.length;
    copied(own.length);
  }
}

async function withoutKnowledge(
  page: readonly MemoryEntry[],
  knowledge: KnowledgeStore,
): Promise<readonly MemoryEntry[]> {
  const learned = page.filter(({ kind }) => kind !== "message").map(({ id }) => id);
  const known = new Set((await knowledge.read(learned)).map(({ id }) => id));
  return page.filter(({ id }) => !known.has(id));
}
