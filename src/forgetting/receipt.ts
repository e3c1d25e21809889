import { type Cleaned, type CleanedPlace, sumCleaned } from "../core/event.ts";
import type { Redaction } from "../core/event-store.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import type { KnowledgeEntry } from "../core/knowledge.ts";
import type { NotCleaned } from "../core/operations/memory.ts";

/** The places where a forgotten text may still be. Each receipt lists them. */
export const NOT_CLEANED: readonly NotCleaned[] = [
  {
    place: "open_requests",
    why: "A request that was sent to a model before cannot be called back.",
  },
  {
    place: "write_ahead_log",
    why: "If another process was reading the store, its write-ahead log keeps the text until the next checkpoint.",
  },
  { place: "backups", why: "Backups, terminals and providers keep their copies." },
];

/** The same for these stores, which know their database. They are not asked twice: what they say changes by itself. */
export async function notCleanedIn({
  notCleaned,
}: {
  notCleaned?(): Promise<readonly NotCleaned[]>;
}): Promise<readonly NotCleaned[]> {
  // The texts are gone, so a question that fails must not fail the receipt.
  const found = await notCleaned?.().catch(() => undefined);
  if (!found) return NOT_CLEANED;
  const others = NOT_CLEANED.filter(({ place }) => !found.some((one) => one.place === place));
  return [...found, ...others];
}

/** Sessions with an event that cannot be read, and what to do so that the text goes there too. */
export function notReadable(
  sessionIds: readonly string[],
  trashed: readonly string[],
): readonly NotCleaned[] {
  const place = "unreadable_sessions" as const;
  const kept = sessionIds.map((id) => ({
    place,
    why: `The session ${id} has a copy, and an event that cannot be read. \`rkat repair\` makes it readable. Then forget the copy.`,
  }));
  const deleted = trashed.map((id) => ({
    place,
    why: `The deleted session ${id} has an event that cannot be read. \`rkat sessions delete ${id} --now\` deletes it for good.`,
  }));
  return [...kept, ...deleted];
}

/** The place that an event's text is counted in, besides the log. */
const PLACES: Partial<Record<Redaction["event"]["type"], CleanedPlace>> = {
  message_added: "message",
  run_started: "message",
  text_complete: "message",
  reasoning_complete: "message",
  tool_call_requested: "tool_call",
  tool_execution_completed: "tool_call",
  tool_approval_requested: "approval",
  tool_approval_resolved: "approval",
  compaction_completed: "summary",
  task_updated: "task",
};

/** The places cleaned in one session. `history` is the one that its model is sent next. */
export function cleanedPlaces(
  redactions: readonly Redaction[],
  history: readonly HistoryEntry[],
  /** `seq` of the events that only repeat what others say. */
  repeating: ReadonlySet<number> = new Set(),
): readonly Cleaned[] {
  const changed = new Set(redactions.map(({ seq }) => seq));
  const isShown = history.some(({ from, id }) => {
    for (let seq = from; seq <= id; seq += 1) if (changed.has(seq)) return true;
    return false;
  });
  return sumCleaned([
    { place: "log", count: redactions.length },
    ...redactions.flatMap(({ seq, event }) => {
      const place = repeating.has(seq) ? undefined : PLACES[event.type];
      return place ? [{ place, count: 1 }] : [];
    }),
    { place: "window", count: isShown ? 1 : 0 },
  ]);
}

/** The deleted knowledge entries, as places of the receipt. */
export function cleanedKnowledge(entries: readonly KnowledgeEntry[]): readonly Cleaned[] {
  return entries.map(({ kind }) => ({ place: `${kind}s` as const, count: 1 }));
}
