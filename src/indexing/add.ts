import { MEMORY_KINDS, type MemoryEntry } from "../core/memory-store.ts";
import { instant } from "../text/time/calendar.ts";
import { wellFormed } from "../text/well-formed.ts";
import { type IndexedPassage, passagesOf } from "./passages/indexed-passages.ts";
import {
  type Asking,
  ask,
  checked,
  Draft,
  NEW_HEAD,
  question,
  type TransactionMode,
  together,
  transaction,
} from "./port/asking.ts";
import type { FreeRun, LastNumbers, SessionRow } from "./port/index-store.ts";
import { recordsOf } from "./segments/columns.ts";
import { LabelUses, storedMarks, storedTime, wordsOf } from "./segments/entries.ts";
import { GrowingSession, takeRuns } from "./segments/runs.ts";
import { isMergeDue, writeSegment } from "./segments/segments.ts";

export interface Added {
  /** How many entries were new. */
  readonly added: number;
  /** Segments wait to be merged, which `mergeStep` does. */
  readonly mergeDue: boolean;
}

/** Stores entries whose ids are new, in the order given. */
export function* addEntries(
  entries: readonly MemoryEntry[],
  mode: Extract<TransactionMode, `write${string}`> = "write",
): Asking<Added> {
  const said = entries
    .filter(({ content }) => content.trim() !== "")
    .map((entry) => wellFormed(entry));
  if (said.length === 0) return NOTHING_ADDED;
  const [head, stored] = yield* together(question("head"), question("storedIds", idsOf(said)));
  const known = new Set(stored);
  const changes = checked(head)?.changes ?? 0;
  // Cutting texts into words takes most of the time, so it is done before other writers have to wait.
  const prepared = withoutRepeats(said)
    .filter(({ id }) => !known.has(id))
    .map(prepare);
  if (prepared.length === 0) return NOTHING_ADDED;
  return yield* transaction(mode, () => insert(prepared, changes));
}

const NOTHING_ADDED: Added = { added: 0, mergeDue: false };

interface Prepared {
  readonly entry: MemoryEntry;
  readonly passages: readonly IndexedPassage[];
  readonly bytes: number;
}

function prepare(entry: MemoryEntry): Prepared {
  return { entry, passages: passagesOf(entry), bytes: Buffer.byteLength(entry.content) };
}

/** None of them was stored when the namespace had changed `checkedAt` times. */
function* insert(all: readonly Prepared[], checkedAt: number): Asking<Added> {
  const sessionIds = [...new Set(all.map(({ entry }) => entry.sessionId))];
  const texts = new Set(
    all.flatMap(({ entry: { role, speaker } }) => [role ?? [], speaker ?? []].flat()),
  );
  const [found, sessions, labels, segments, last] = yield* together(
    question("head"),
    question("sessions", { ids: sessionIds }),
    question("labels", [...texts]),
    question("segments"),
    question("lastNumbers"),
  );
  const draft = new Draft(checked(found) ?? NEW_HEAD);
  const { head } = draft;
  const fresh = head.changes === checkedAt ? all : yield* unstored(all);
  if (fresh.length === 0) return NOTHING_ADDED;
  const growing = yield* growingSessions(draft, fresh, sessions, last);
  const uses = new LabelUses(labels, last.label);
  const firstEntry = head.stored;
  const placed = fresh.map(({ entry, passages, bytes }) => {
    const { session, run } = growing.get(entry.sessionId) as Growing;
    const slot = session.place(passages.length, bytes, run);
    const columns = {
      session: session.number,
      role: uses.use(entry.role),
      speaker: uses.use(entry.speaker),
      kind: MEMORY_KINDS.indexOf(entry.kind),
      time: instant(entry.time),
    };
    draft.put("entries", {
      key: head.stored,
      id: entry.id,
      slot,
      passages: passages.length,
      turn: entry.turn,
      sourceFrom: entry.source?.from ?? null,
      sourceTo: entry.source?.to ?? null,
      content: entry.content,
      marks: storedMarks(entry),
      ...columns,
      time: storedTime(entry.time),
    });
    head.stored += 1;
    head.passages += passages.length;
    return { slot, passages, content: entry.content, columns };
  });
  const links = [...growing.values()].flatMap(({ session }) => session.save(draft));
  uses.save(draft);
  const extent = {
    generation: head.generation,
    firstEntry,
    lastEntry: head.stored - 1,
    firstChange: head.changes + 1,
    lastChange: head.changes + 1,
  };
  const words = wordsOf(placed);
  const now = yield* writeSegment(draft, segments, {
    extent,
    words,
    records: recordsOf(placed, links),
  });
  yield* draft.save();
  return { added: fresh.length, mergeDue: isMergeDue(now, head.generation) };
}

function* unstored(all: readonly Prepared[]): Asking<readonly Prepared[]> {
  const stored = new Set(yield* ask("storedIds", idsOf(all.map(({ entry }) => entry))));
  return all.filter(({ entry }) => !stored.has(entry.id));
}

interface Growing {
  readonly session: GrowingSession;
  /** The run that it needs. */
  readonly run: FreeRun | undefined;
}

/** The sessions of entries by their ids, new ones included, with a run for each that needs one. */
function* growingSessions(
  draft: Draft,
  fresh: readonly Prepared[],
  known: readonly SessionRow[],
  last: LastNumbers,
): Asking<ReadonlyMap<string, Growing>> {
  const rows = new Map(known.map((row) => [row.id, row]));
  let lastSession = last.session;
  const sessions = [...Map.groupBy(fresh, ({ entry }) => entry.sessionId)].map(([id, entries]) => {
    const row = rows.get(id) ?? { number: ++lastSession, id, entries: 0, textBytes: 0, runs: [] };
    const session = new GrowingSession(row);
    const wanted = session.wantedRun(entries.map(({ passages }) => passages.length));
    return { id, session, wanted, opener: wanted && fresh.indexOf(entries[wanted.at] as Prepared) };
  });
  // Entries open new runs in their order.
  const opening = sessions
    .filter(({ wanted }) => wanted)
    .sort((one, other) => (one.opener ?? 0) - (other.opener ?? 0));
  const sizes = opening.map(({ wanted }) => wanted?.size ?? 0);
  const free =
    last.hasFreeRuns && sizes.length > 0
      ? yield* ask("freeRuns", [...new Set(sizes)], sizes.length)
      : [];
  const runs = takeRuns(draft, sizes, free);
  const runOf = new Map(opening.map(({ id }, at) => [id, runs[at]]));
  return new Map(sessions.map(({ id, session }) => [id, { session, run: runOf.get(id) }]));
}

function withoutRepeats(entries: readonly MemoryEntry[]): readonly MemoryEntry[] {
  const byId = new Map<string, MemoryEntry>();
  for (const entry of entries) if (!byId.has(entry.id)) byId.set(entry.id, entry);
  return [...byId.values()];
}

function idsOf(entries: readonly MemoryEntry[]): string[] {
  return entries.map(({ id }) => id);
}
