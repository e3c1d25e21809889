import { contentWords } from "../compaction/content-words.ts";
import type { MemoryRecalled, RecalledRecord } from "../core/event.ts";
import {
  type MemoryEntry,
  type MemoryHit,
  type MemoryStore,
  matchOfHit,
  NO_SESSION,
  saidBy,
} from "../core/memory-store.ts";
import { recordsWithin, tokensOfRecords } from "../core/recalled.ts";
import { instant } from "../text/time/calendar.ts";
import { addedForLacking } from "./lacking-words.ts";
import { newestFirst } from "./newer-statements.ts";
import { oneLine, quotedPassage } from "./quoted-passage.ts";
import { BAR_LEAST, saysSomething } from "./recall-bar.ts";

/** The request to memory, so that the best records can be chosen from its answer. */
export const RECALL_SEARCH = { limit: 60, neighbours: 1 } as const;

/** The same where only results that may be the best have their neighbours read. */
export function recallSearch(bar: number) {
  return { ...RECALL_SEARCH, bestMatch: bar, neighboursMatch: bar };
}

/**
 * The others need this part of the best one's match. Measured with `npm run bench -- coherence`: without it they take a
 * fifth more tokens, and no more of the answers are among them.
 */
const BESIDE_BEST = 0.65;

/** The match from which on records may take all of their room: no bar is higher. */
const SURE = 0.7;
/** The match with which they would have none, below any bar, and the least part that they have. */
const HARDLY_SURE = 0.3;
const LEAST_PART = 1 / 4;

/**
 * The part of the room that records may take, by the match of the best. Where the best is hardly sure, the others are
 * mostly chance:
 *
 *     match   .42   .5    .6    .7 and more
 *     part    .3    1/2   3/4   all
 */
export function roomPart(match: number): number {
  return Math.min(1, Math.max(LEAST_PART, (match - HARDLY_SURE) / (SURE - HARDLY_SURE)));
}

/** Rules and preferences are told in the system prompt. */
const RECALLED_KINDS: ReadonlySet<string> = new Set(["message", "fact", "correction"]);

export interface RecordChoice {
  /** The text that memory was asked about. */
  readonly query: string;
  /** The match that the best record needs. Below it nothing comes back. */
  readonly bar: number;
  readonly tokensMax: number;
  /** The session that the records are for. Records of others name theirs. */
  readonly sessionId: string;
  /** Whether the window shows nothing of an entry, and a person did not refuse it. */
  isNew(entry: MemoryEntry): boolean;
}

/**
 * Chooses the records of memory that come back by themselves from what memory found:
 *
 *     found      h1 .81  h2 .66  h3 .54  h4 .31 …       best first; the window shows h2
 *     the best   h1 .81 ≥ bar, and lacks few words       else nothing comes back
 *     holding    h1 h3 …                                 near the best, and not replaced by a newer statement among them
 *     records    h1 and what was said around it, h3 …    as many as have room, in the order of time
 *
 * The bar for each of them would take the answers away: the best of them says what the talk was, and the
 * answer stands beside it.
 */
export function chooseRecords(
  hits: readonly MemoryHit[],
  { query, bar, tokensMax, sessionId, isNew }: RecordChoice,
): MemoryRecalled | undefined {
  // A bar that was measured is higher than the least one, so it has a part of what is added already.
  const needed = Math.max(bar, Math.min(SURE, BAR_LEAST + addedForLacking(query, hits)));
  // Most prompts end here, and what the window shows is not read for them.
  if (!hits.some((hit) => matchOfHit(hit) >= needed)) return undefined;
  const isUnseen = (hit: MemoryHit) => RECALLED_KINDS.has(hit.kind) && isNew(hit);
  const best = hits.find((hit) => matchOfHit(hit) < bar || isUnseen(hit));
  if (!best || matchOfHit(best) < needed) return undefined;
  const words = new Set(contentWords(query));
  // Most have no room, so each is looked at when it is its turn.
  const least = BESIDE_BEST * matchOfHit(best);
  const holding = newestFirst(hits).filter((hit) => !hit.replacedBy && matchOfHit(hit) >= least);
  const found = withNeighboursOf(best, holding.filter(isUnseen), isNew);
  const asRecord = (one: Found) => recordOf(one, { words, sessionId });
  const room = tokensMax * roomPart(matchOfHit(best));
  const chosen = inRoom(recordsWithin(room, found, asRecord).records, room);
  return chosen && { type: "memory_recalled", ...chosen, bar: rounded(bar) };
}

/** Records in their order. Where two sessions took turns a heading stands twice, and the weakest record leaves if that has no room. */
function inRoom(bestFirst: readonly RecalledRecord[], room: number) {
  for (let count = bestFirst.length; count > 0; count -= 1) {
    const records = inOrder(bestFirst.slice(0, count));
    const tokens = tokensOfRecords(records);
    if (tokens <= room) return { records, tokens };
  }
  return undefined;
}

interface Found {
  readonly entry: MemoryEntry;
  /** Its text, as one line. */
  readonly text: string;
  /** The match of the hit that it is or stands beside. */
  readonly score: number;
}

/**
 * The entries with the neighbours of the best, each once and none in the words of another. An answer has few words of
 * its question. Those of eight, as before, had a tenth of the room, and 1 to 10 % of the answers less.
 */
function* withNeighboursOf(
  best: MemoryHit,
  hits: readonly MemoryHit[],
  isNew: RecordChoice["isNew"],
): Generator<Found> {
  const given = new Set<string>();
  for (const hit of hits) {
    const { before = [], after = [] } = (hit === best && hit.neighbours) || {};
    for (const entry of [hit, ...after, ...before]) {
      const text = oneLine(entry.content);
      if (given.has(entry.id) || given.has(text)) continue;
      given.add(entry.id).add(text);
      if (entry === hit || (isNew(entry) && saysSomething(text)))
        yield { entry, text, score: matchOfHit(hit) };
    }
  }
}

/** An entry as it comes back, cut to the passage with the words of the prompt. */
export function recordOf(
  { entry, text, score }: Found,
  { words, sessionId }: { readonly words: ReadonlySet<string>; readonly sessionId: string },
): RecalledRecord {
  const { id, turn, time } = entry;
  return {
    id,
    ...(entry.sessionId === sessionId ? {} : { session: oneLine(entry.sessionId) }),
    turn,
    said_by: oneLine(saidBy(entry)),
    ...(time === undefined ? {} : { time }),
    score: rounded(score),
    text: quotedPassage(text, words),
  };
}

/** Records of notes that a person pinned, as many as have room. They are sure without a score. */
export function pinnedRecords(
  pinned: readonly MemoryEntry[],
  { tokensMax, sessionId, isNew }: Omit<RecordChoice, "query" | "bar">,
): MemoryRecalled | undefined {
  const asRecord = (entry: MemoryEntry) =>
    recordOf({ entry, text: oneLine(entry.content), score: 1 }, { words: new Set(), sessionId });
  const chosen = recordsWithin(tokensMax, pinned.filter(isNew), asRecord);
  return chosen.records.length > 0 ? { type: "memory_recalled", ...chosen } : undefined;
}

function rounded(score: number): number {
  return Math.round(score * 1000) / 1000;
}

/**
 * In the order in which they were said, in whichever session: of two that differ the later one counts. Those without a time
 * come first, and of those with the same time the ones of this session last.
 */
export function inOrder(records: readonly RecalledRecord[]): readonly RecalledRecord[] {
  return records.toSorted(
    (one, other) =>
      compareTimes(one.time, other.time) ||
      Number(one.session === undefined) - Number(other.session === undefined) ||
      compare(one.session, other.session) ||
      (one.turn ?? 0) - (other.turn ?? 0),
  );
}

/** Times may be of different zones, so their texts have no order. */
function compareTimes(one: string | undefined, other: string | undefined): number {
  const [first = 0, second = 0] = [one, other].map((time) => {
    const at = instant(time);
    return Number.isNaN(at) ? Number.NEGATIVE_INFINITY : at;
  });
  return first === second ? 0 : first - second;
}

function compare(one = "", other = ""): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** Marked entries that are looked at for those that are pinned. They have to fit a window, so there are few. */
const MARKED_MAX = 200;

/** The notes that a person wants each session to begin with, asked for or not. */
export async function pinnedNotes(
  memory: Pick<MemoryStore, "list">,
): Promise<readonly MemoryEntry[]> {
  const page = { marked: true, sessionId: NO_SESSION.added, limit: MARKED_MAX } as const;
  return (await memory.list(page)).filter(({ pinned }) => pinned);
}

/** Pinned notes, and after them what was found, each once. */
export function withPinned(
  pinned: MemoryRecalled | undefined,
  found: MemoryRecalled | undefined,
): MemoryRecalled | undefined {
  if (!pinned || !found) return found ?? pinned;
  const ids = new Set(pinned.records.map(({ id }) => id));
  const others = found.records.filter(({ id }) => !ids.has(id));
  return {
    ...found,
    records: [...pinned.records, ...others],
    tokens: pinned.tokens + found.tokens,
  };
}
