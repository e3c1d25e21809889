import { createHash, type Hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { StoredEvent } from "../core/event.ts";
import type { EventStore } from "../core/event-store.ts";
import { given } from "../core/fields.ts";
import type { KnowledgeEntry } from "../core/knowledge.ts";
import type { MemoryEntry, MemoryStore } from "../core/memory-store.ts";
import type { Stores } from "../core/stores.ts";

/** How a store differs from a backup of it. */
export interface StoreDifferences {
  /** Sessions with the same events in both. */
  readonly same_sessions: number;
  readonly only_in_backup: readonly string[];
  readonly only_here: readonly string[];
  /** Their events here begin with those of the backup, and more were added. */
  readonly longer_here: readonly string[];
  readonly longer_in_backup: readonly string[];
  /** Continued in both, or a text was forgotten in one of them. */
  readonly different: readonly string[];
  readonly memory: EntryDifferences;
  readonly knowledge: EntryDifferences;
}

/** How many entries. */
export interface EntryDifferences {
  readonly same: number;
  readonly only_in_backup: number;
  readonly only_here: number;
  readonly different: number;
}

type Compared = Pick<Stores, "events" | "memory" | "knowledge">;

interface Watch {
  readonly signal: AbortSignal;
  readonly onProgress: (entries: number) => void;
}

/** Compares the stores of one namespace with those of a backup. What it holds at once does not grow with their texts. */
export async function compareStores(
  backup: Compared,
  here: Compared,
  watch: Watch,
): Promise<StoreDifferences> {
  const [learned, learnedHere] = [await learnedIn(backup), await learnedIn(here)];
  const isLearned = (id: string) => learned.has(id) || learnedHere.has(id);
  return {
    ...(await compareSessions(backup.events, here.events, watch)),
    memory: await compareMemory(backup.memory, here.memory, isLearned, watch),
    knowledge: compareKnowledge(learned, learnedHere),
  };
}

export function isSame({
  same_sessions: _,
  memory,
  knowledge,
  ...sessions
}: StoreDifferences): boolean {
  const entries = [memory, knowledge].map(({ same: _, ...counts }) => counts);
  return (
    Object.values(sessions).every(({ length }) => length === 0) &&
    entries.every((counts) => Object.values(counts).every((count) => count === 0))
  );
}

const PAGE = 500;

/** How many events a session has, and a digest of them. */
interface Digest {
  events: number;
  readonly hash: Hash;
}

async function compareSessions(backup: EventStore, here: EventStore, watch: Watch) {
  const [counts, countsHere] = [await countEvents(backup, watch), await countEvents(here, watch)];
  const shared = new Map(
    [...counts].flatMap(([id, events]) => {
      const other = countsHere.get(id);
      return other === undefined ? [] : [[id, Math.min(events, other)]];
    }),
  );
  const ours = await digests(backup, shared, watch);
  const theirs = await digests(here, shared, watch);
  const kinds = new Map<string, string>();
  for (const [id, events] of counts) {
    const other = countsHere.get(id);
    const isShared = ours.get(id) === theirs.get(id);
    const longer = events > (other ?? 0) ? "longer_in_backup" : "longer_here";
    if (other === undefined) kinds.set(id, "only_in_backup");
    else if (!isShared) kinds.set(id, "different");
    else kinds.set(id, events === other ? "same" : longer);
  }
  for (const id of countsHere.keys()) if (!counts.has(id)) kinds.set(id, "only_here");
  const of = (kind: string) => [...kinds].flatMap(([id, each]) => (each === kind ? [id] : []));
  return {
    same_sessions: of("same").length,
    only_in_backup: of("only_in_backup"),
    only_here: of("only_here"),
    longer_here: of("longer_here"),
    longer_in_backup: of("longer_in_backup"),
    different: of("different"),
  };
}

async function countEvents(log: EventStore, watch: Watch): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for await (const [sessionId, { seq }] of eventsOf(log, watch)) counts.set(sessionId, seq);
  return counts;
}

/** Digests of the first so many events of each session. */
async function digests(
  log: EventStore,
  limits: ReadonlyMap<string, number>,
  watch: Watch,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, Digest>();
  for await (const [sessionId, { seq, event_id, timestamp_ms, event }] of eventsOf(log, watch)) {
    if (seq > (limits.get(sessionId) ?? 0)) continue;
    const digest = found.get(sessionId) ?? { events: 0, hash: createHash("sha256") };
    digest.events += 1;
    digest.hash.update(`${seq} ${event_id} ${timestamp_ms} ${JSON.stringify(event)}\n`);
    found.set(sessionId, digest);
  }
  return new Map(
    [...found].map(([id, { events, hash }]) => [id, `${events} ${hash.digest("hex")}`]),
  );
}

async function* eventsOf(
  log: EventStore,
  { signal, onProgress }: Watch,
): AsyncIterable<readonly [sessionId: string, stored: StoredEvent]> {
  for (let position = 0; ; ) {
    signal.throwIfAborted();
    const page = await log.readAll(position, PAGE);
    const last = page.at(-1);
    if (!last) return;
    for (const { sessionId, stored } of page) yield [sessionId, stored];
    onProgress(page.length);
    position = last.position;
  }
}

async function compareMemory(
  backup: MemoryStore,
  here: MemoryStore,
  /** Whether an entry is a copy of what was learned. That is compared with the knowledge store. */
  isLearned: (id: string) => boolean,
  watch: Watch,
): Promise<EntryDifferences> {
  const counts = { same: 0, only_in_backup: 0, only_here: 0, different: 0 };
  for await (const page of pagesOf(backup, isLearned, watch)) {
    const found = new Map((await here.read(page.map(({ id }) => id))).map((one) => [one.id, one]));
    for (const entry of page) {
      const other = found.get(entry.id);
      if (!other) counts.only_in_backup += 1;
      else counts[isDeepStrictEqual(other, entry) ? "same" : "different"] += 1;
    }
  }
  for await (const page of pagesOf(here, isLearned, watch)) {
    const found = await backup.read(page.map(({ id }) => id));
    counts.only_here += page.length - found.length;
  }
  return counts;
}

async function* pagesOf(
  memory: MemoryStore,
  isLearned: (id: string) => boolean,
  { signal, onProgress }: Watch,
): AsyncIterable<readonly MemoryEntry[]> {
  for (let after: string | undefined; ; ) {
    signal.throwIfAborted();
    const page = await memory.list({ limit: PAGE, ...given({ after }) });
    if (page.length === 0) return;
    yield page.filter(({ id }) => !isLearned(id));
    onProgress(page.length);
    after = page.at(-1)?.id;
  }
}

async function learnedIn({ knowledge }: Compared): Promise<ReadonlyMap<string, KnowledgeEntry>> {
  return new Map((await knowledge.copy()).entries.map(({ entry }) => [entry.id, entry]));
}

function compareKnowledge(
  backup: ReadonlyMap<string, KnowledgeEntry>,
  here: ReadonlyMap<string, KnowledgeEntry>,
): EntryDifferences {
  const both = [...backup].filter(([id]) => here.has(id));
  const same = both.filter(([id, entry]) => isDeepStrictEqual(here.get(id), entry)).length;
  return {
    same,
    only_in_backup: backup.size - both.length,
    only_here: here.size - both.length,
    different: both.length - same,
  };
}
