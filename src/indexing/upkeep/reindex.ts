import {
  type Asking,
  ask,
  Draft,
  INDEX_VERSION,
  type Progress,
  question,
  together,
  transaction,
} from "../port/asking.ts";
import type { Counts, Head } from "../port/index-store.ts";
import { recordsOf } from "../segments/columns.ts";
import { columnsOf, placedEntry, wordsOf } from "../segments/entries.ts";
import { linksOf } from "../segments/runs.ts";
import { isMergeDue, writeSegment } from "../segments/segments.ts";
import { deleteColumns, mergeSegments, mergeStep } from "./merge.ts";

export interface RebuildStep extends Progress {
  readonly more: boolean;
}

const NOTHING_TO_DO: RebuildStep = { done: 0, total: 0, more: false };

/** Entries, and passages, that one step indexes. */
const STEP_ENTRIES = 500;
const STEP_PASSAGES = 1000;

/**
 * One step of making the index of an earlier rkat again, until nothing of that one is left; takes no time when there is
 * nothing of it.
 */
export function* renewIndex(): Asking<RebuildStep> {
  const [head, segments] = yield* together(question("head"), question("segments"));
  if (!head) return NOTHING_TO_DO;
  if (head.version < INDEX_VERSION) return yield* reindex();
  const isReplaced = segments.some(({ generation }) => generation < head.generation);
  if (isReplaced) yield* mergeStep(head.generation);
  return { done: head.stored, total: head.stored, more: isReplaced };
}

/** Takes one short step of what is done in the background. Returns whether there may be more. */
export function* keepUp(stepBytes?: number): Asking<boolean> {
  return (yield* renewIndex()).more || (yield* mergeSegments(stepBytes));
}

/**
 * One step of rebuilding the index. The next generation grows beside the one that is searched: a page of
 * entries at a time, in the order of storing, so that those added meanwhile come last. When all are indexed,
 * it replaces the other in one short transaction. Entries keep their slots. After a kill the next step
 * continues where the last one ended.
 */
export function* reindex(): Asking<RebuildStep> {
  const head = yield* ask("head");
  if (!head) return NOTHING_TO_DO;
  if (head.rebuilt === null || head.rebuiltVersion !== INDEX_VERSION) return yield* begin();
  const next = head.generation + 1;
  if (isMergeDue(yield* ask("segments"), next)) yield* mergeStep(next);
  else yield* indexPage();
  return progressOf(yield* ask("head"));
}

function progressOf(head: Head | undefined): RebuildStep {
  const total = head?.stored ?? 0;
  if (!head || head.rebuilt === null) return { done: total, total, more: false };
  return { done: head.rebuilt + 1, total, more: true };
}

/** Removes an unfinished index of another version, step by step. */
function begin(): Asking<RebuildStep> {
  return transaction("write unsynced", function* () {
    const [head, segments] = yield* together(question("head"), question("segments"));
    if (!head) return NOTHING_TO_DO;
    const next = head.generation + 1;
    const draft = new Draft(head);
    for (const segment of segments) {
      if (segment.generation === next && segment.state !== "gone") {
        draft.put("segments", { ...segment, state: "gone" });
      }
    }
    if (yield* deleteColumns(draft, next)) return { done: 0, total: 1, more: true };
    draft.head.rebuilt = -1;
    draft.head.rebuiltVersion = INDEX_VERSION;
    yield* draft.save();
    return progressOf(draft.head);
  });
}

function* indexPage(): Asking<void> {
  // Cutting texts into words takes most of the time, so it is done before other writers have to wait.
  const read = yield* transaction("read", readPage);
  if (!read) return;
  const entries = read.rows.map((row) => ({ ...placedEntry(row), columns: columnsOf(row) }));
  const words = wordsOf(entries);
  const [first, last] = [read.rows[0], read.rows.at(-1)];
  const indexed = last?.key ?? read.head.rebuilt ?? -1;
  yield* transaction("write unsynced", function* () {
    const [head, segments, sessions, rest] = yield* together(
      question("head"),
      question("segments"),
      question("sessions", { numbers: [...new Set(read.rows.map(({ session }) => session))] }),
      question("entries", { after: indexed, limit: 1 }),
    );
    // Another process has continued, or deleted entries that were read: the next step reads again.
    if (!head || head.rebuilt !== read.head.rebuilt || head.removedAt !== read.head.removedAt)
      return;
    const draft = new Draft(head);
    if (first && last) {
      const extent = {
        generation: head.generation + 1,
        firstEntry: first.key,
        lastEntry: last.key,
        firstChange: head.changes + 1,
        lastChange: head.changes + 1,
      };
      const links = sessions.flatMap(({ runs }) => linksOf(runs));
      yield* writeSegment(draft, segments, { extent, words, records: recordsOf(entries, links) });
      draft.head.rebuilt = indexed;
    }
    // Others may add without a pause, so the last entries and the replacement are one step.
    if (rest.length === 0) {
      const counts = head.changes === read.head.changes ? read.counts : undefined;
      replaceIndex(draft, segments, counts);
    }
    yield* draft.save();
  });
}

function* readPage() {
  const head = yield* ask("head");
  if (!head || head.rebuilt === null) return undefined;
  const all = yield* ask("entries", { after: head.rebuilt, limit: STEP_ENTRIES });
  let passages = 0;
  const rows = all.filter((row) => {
    const fits = passages < STEP_PASSAGES;
    passages += row.passages;
    return fits;
  });
  const isEnd = rows.length === all.length && all.length < STEP_ENTRIES;
  return { head, rows, counts: isEnd ? yield* ask("recount") : undefined };
}

/** The next generation takes the place of the one that is searched. `counts` are right if they are given. */
function replaceIndex(
  draft: Draft,
  segments: readonly Parameters<typeof draft.put<"segments">>[1][],
  counts: Counts | undefined,
): void {
  const { head } = draft;
  for (const segment of segments) {
    if (segment.generation <= head.generation && segment.state !== "gone") {
      draft.put("segments", { ...segment, state: "gone" });
    }
  }
  if (counts) {
    draft.put("sessions", ...counts.sessions);
    draft.put("labels", ...counts.labels);
    head.passages = counts.passages;
  }
  head.changes += 1;
  head.generation += 1;
  head.version = INDEX_VERSION;
  head.removedAt = head.changes;
  head.columnsAt = head.changes;
  head.rebuilt = null;
  head.rebuiltVersion = null;
}
