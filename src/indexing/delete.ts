import { rangesOf } from "./list.ts";
import {
  type Asking,
  ask,
  Draft,
  openHead,
  question,
  together,
  transaction,
} from "./port/asking.ts";
import type { EntryRow, Head, Segment, SessionRow } from "./port/index-store.ts";
import { blocksOf, changedBlocks, joinRecords } from "./segments/columns.ts";
import { LabelUses, placedEntry, wordsOf } from "./segments/entries.ts";
import { linksOf } from "./segments/runs.ts";
import { foldSmall, putColumns } from "./segments/segments.ts";
import { pairsOf } from "./segments/sorted-words.ts";
import { blocksWithWords, removeFromBlocks, removeFromSmall } from "./segments/word-blocks.ts";
import { renewIndex } from "./upkeep/reindex.ts";
import { removeVectors } from "./vectors/store-vectors.ts";

/** The limits of one step, so that no other writer waits long. */
const STEP_ENTRIES = 250;
const STEP_PASSAGES = 1000;

export interface Deleted {
  readonly deleted: number;
  /** Whether entries are left to delete. */
  readonly more: boolean;
}

/** Deletes some of the entries with these ids; several steps delete all. */
export function deleteEntries(ids: readonly string[]): Asking<Deleted> {
  const unique = [...new Set(ids)];
  return deleteStep(function* () {
    const rows: EntryRow[] = [];
    for (let at = 0; at < unique.length && rows.length <= STEP_ENTRIES; at += STEP_ENTRIES) {
      rows.push(...(yield* ask("entries", { ids: unique.slice(at, at + STEP_ENTRIES) })));
    }
    return rows;
  });
}

/** Deletes some entries of a session; several steps delete all. */
export function deleteSession(sessionId: string): Asking<Deleted> {
  return deleteStep(function* () {
    const rows: EntryRow[] = [];
    for (const { first, last } of yield* rangesOf(sessionId)) {
      if (rows.length > STEP_ENTRIES || first > last) continue;
      const limit = STEP_ENTRIES + 1 - rows.length;
      rows.push(...(yield* ask("entries", { first, last, after: -1, limit })));
    }
    return rows;
  });
}

function* deleteStep(find: () => Asking<readonly EntryRow[]>): Asking<Deleted> {
  // An earlier rkat may have found other words in a text, and none of them may stay.
  if ((yield* renewIndex()).more) return { deleted: 0, more: true };
  return yield* transaction("write", function* () {
    const head = yield* openHead();
    if (!head) return { deleted: 0, more: false };
    const found = yield* find();
    let passages = 0;
    const rows = found.slice(0, STEP_ENTRIES).filter((row) => {
      const fits = passages < STEP_PASSAGES;
      passages += row.passages;
      return fits;
    });
    if (rows.length > 0) yield* remove(head, rows);
    return { deleted: rows.length, more: found.length > rows.length };
  });
}

/**
 * Removes entries from everything at once: their words from the blocks that have them, their columns, their
 * vectors. Nothing of them waits for a merge.
 */
function* remove(before: Head, rows: readonly EntryRow[]): Asking<void> {
  const draft = new Draft(before);
  const { head } = draft;
  head.changes += 1;
  head.removedAt = head.changes;
  const words = pairsOf(wordsOf(rows.map(placedEntry)));
  const slots = rows.flatMap(({ slot, passages }) => range(slot, passages));
  const [segments, labels, sessions, spaces, vectors] = yield* together(
    question("segments"),
    question("labels", labelsOf(rows)),
    question("sessions", { numbers: [...new Set(rows.map(({ session }) => session))] }),
    question("spaces"),
    question("vectorSlots", slots),
  );
  const holding = segments.filter(({ firstEntry, lastEntry }) =>
    rows.some(({ key }) => firstEntry <= key && key <= lastEntry),
  );
  const large = holding.filter(({ level }) => level > 0);
  const small = segments.filter(({ level }) => level === 0);
  const [blobs, blocks] = yield* together(
    question(
      "smallSegments",
      small.map(({ number }) => number),
    ),
    question(
      "wordBlocks",
      large.flatMap(({ number }) => blocksWithWords(number, words)),
    ),
  );
  for (const [at, segment] of large.entries()) {
    const own = blocks.slice(at * words.length, (at + 1) * words.length);
    removeFromBlocks(draft, segment, words, own);
  }
  const blobOf = new Map(blobs.map((blob) => [blob.number, blob]));
  for (const segment of small) {
    const blob = blobOf.get(segment.number);
    if (!blob) continue;
    removeFromSmall(draft, segment, blob, holding.includes(segment) ? words : []);
  }
  const links = leaveSessions(draft, sessions, rows);
  leaveLabels(draft, labels, rows);
  draft.remove("entries", ...rows);
  head.passages -= rows.reduce((sum, { passages }) => sum + passages, 0);
  yield* emptyColumns(draft, segments, foldSmall(small, blobs), [...slots, ...links]);
  yield* removeVectors(draft, spaces, vectors);
  yield* draft.save();
}

/** Empties slots in the column blocks of every generation, after the columns of small segments went there. */
function* emptyColumns(
  draft: Draft,
  segments: readonly Segment[],
  folded: ReturnType<typeof foldSmall>,
  slots: readonly number[],
): Asking<void> {
  for (const generation of new Set(segments.map((segment) => segment.generation))) {
    const records = joinRecords(
      folded.filter((one) => one.generation === generation).map((one) => one.records),
    );
    const known = yield* ask("columnBlocks", generation, blocksOf(records.slots, slots));
    putColumns(draft, changedBlocks(known, generation, draft.head.changes, records, slots));
  }
}

/** Counts entries that leave their sessions, ends sessions without entries, and returns the slots of their links. */
function leaveSessions(
  draft: Draft,
  sessions: readonly SessionRow[],
  rows: readonly EntryRow[],
): number[] {
  return sessions.flatMap((session) => {
    const own = rows.filter((row) => row.session === session.number);
    const bytes = own.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
    const entries = session.entries - own.length;
    if (entries > 0) {
      draft.put("sessions", { ...session, entries, textBytes: session.textBytes - bytes });
      return [];
    }
    draft.remove("sessions", session);
    draft.put("freeRuns", ...session.runs.map(({ first, size }) => ({ first, size })));
    return linksOf(session.runs).map(({ slot }) => slot);
  });
}

function leaveLabels(
  draft: Draft,
  labels: ConstructorParameters<typeof LabelUses>[0],
  rows: readonly EntryRow[],
): void {
  const uses = new LabelUses(labels);
  for (const { roleText, speakerText } of rows) {
    uses.leave(roleText);
    uses.leave(speakerText);
  }
  uses.save(draft);
}

function labelsOf(rows: readonly EntryRow[]): string[] {
  return [
    ...new Set(
      rows.flatMap(({ roleText, speakerText }) => [roleText ?? [], speakerText ?? []].flat()),
    ),
  ];
}

function range(first: number, length: number): number[] {
  return Array.from({ length }, (_, index) => first + index);
}
