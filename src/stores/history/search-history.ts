import type { DurableEvent } from "../../core/event.ts";
import type { HistoryHit, HistoryQuery, PositionedEvent } from "../../core/event-store.ts";
import { sessionTest } from "../../core/memory-store.ts";
import { unicodePattern } from "../../text/character-kinds.ts";
import { timeSpan } from "../../text/time/calendar.ts";
import { type EventText, eventText, shownText } from "./event-text.ts";
import { type SearchWord, searchWords, wordsOf } from "./search-words.ts";
import { ifReadable, type PositionedEventRow, storedEvent } from "./stored-event.ts";

/**
 * Searches events one by one, without an index. Only for logs that fit in a process.
 *
 * An event scores by the words of the query that it has, and rare words count more. Of equal events
 * the newer comes first.
 */
export function searchHistory(
  events: readonly PositionedEvent[],
  query: HistoryQuery,
): HistoryHit[] {
  const words = searchWords(query.query);
  const found = events.flatMap((event, at) => match(event, events[at - 1], words));
  const weights = words.map((_, index) => {
    const having = found.filter(({ matched }) => matched[index]).length;
    return Math.log(1 + events.length / Math.max(1, having));
  });
  const score = ({ matched }: Match) =>
    weights.reduce((sum, weight, index) => sum + (matched[index] ? weight : 0), 0);
  const isOfSession = sessionTest(query.sessions);
  return found
    .filter((match) => isOfSession(match.event.sessionId) && passes(match, query))
    .map((candidate) => ({ ...candidate, score: score(candidate) }))
    .sort((one, other) => other.score - one.score || other.event.position - one.event.position)
    .slice(0, Math.max(0, query.limit))
    .map((match) => hitOf(match.event, match, words));
}

/** An event that an index found. */
export type FoundRow = Omit<PositionedEventRow, "position">;

/**
 * The hit that a found event is. It is none when the event cannot be read, or when only a search that it calls has the
 * words. `before` reads the previous event of the session.
 */
export function hitIn(
  row: FoundRow,
  words: readonly SearchWord[],
  before: () => DurableEvent | undefined,
): HistoryHit | undefined {
  return ifReadable(() => {
    const stored = storedEvent(row);
    const said = shownText(stored.event, before);
    if (!said || (said.text !== eventText(stored.event)?.text && !hasWord(said.text, words)))
      return;
    return hitOf({ sessionId: row.session_id, stored, turns: row.turns }, said, words);
  });
}

function hitOf(
  event: Omit<PositionedEvent, "position">,
  { role, speaker, text }: EventText,
  words: readonly SearchWord[],
): HistoryHit {
  return {
    sessionId: event.sessionId,
    seq: event.stored.seq,
    turn: turnOf(event),
    role,
    ...(speaker === undefined ? {} : { speaker }),
    time: new Date(event.stored.timestamp_ms).toISOString(),
    content: passage(text, words),
  };
}

interface Match extends EventText {
  readonly event: PositionedEvent;
  /** Whether the event has each word of the query. */
  readonly matched: readonly boolean[];
}

function match(
  event: PositionedEvent,
  before: PositionedEvent | undefined,
  words: readonly SearchWord[],
): Match[] {
  const said = shownText(event.stored.event, () =>
    before?.sessionId === event.sessionId ? before.stored.event : undefined,
  );
  if (!said) return [];
  const own = new Set(wordsOf(said.text));
  const matched = words.map(({ word, whole }) =>
    whole ? own.has(word) : [...own].some((item) => item.startsWith(word)),
  );
  return matched.includes(true) ? [{ event, ...said, matched }] : [];
}

function passes({ event }: Match, query: HistoryQuery): boolean {
  const { sinceMs, untilMs } = timeRange(query);
  const { timestamp_ms } = event.stored;
  const turn = turnOf(event);
  return (
    turn >= (query.fromTurn ?? 0) &&
    turn <= (query.toTurn ?? Number.MAX_SAFE_INTEGER) &&
    timestamp_ms >= sinceMs &&
    timestamp_ms <= untilMs
  );
}

function turnOf({ turns }: { readonly turns: number }): number {
  return Math.max(0, turns - 1);
}

/** The bounds of a query in milliseconds, both included. An `until` that is a day includes the whole day. */
export function timeRange(query: Pick<HistoryQuery, "since" | "until">): {
  readonly sinceMs: number;
  readonly untilMs: number;
} {
  const { since, until } = timeSpan(query);
  return {
    sinceMs: Math.max(since, Number.MIN_SAFE_INTEGER),
    untilMs: Math.min(until, Number.MAX_SAFE_INTEGER),
  };
}

/** Characters of a passage, without ellipses. */
const PASSAGE_MAX = 2000;
/** Characters before the first found word. */
const LEAD = 200;

/** The part of `text` with most of the words. A short text comes whole. */
export function passage(text: string, words: readonly SearchWord[]): string {
  if (text.length <= PASSAGE_MAX) return text;
  const start = boundary(text, Math.min(bestStart(text, words), text.length - PASSAGE_MAX));
  const end = boundary(text, start + PASSAGE_MAX);
  return `${start > 0 ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`;
}

/** Whether the text has any of the words. */
function hasWord(text: string, words: readonly SearchWord[]): boolean {
  return findWords(text, words).length > 0;
}

/** The start of the passage with the most different words. */
function bestStart(text: string, words: readonly SearchWord[]): number {
  const found = findWords(text, words);
  const inside = new Map<string, number>();
  let best = { distinct: 0, start: 0 };
  let first = 0;
  for (const { word, at } of found) {
    inside.set(word, (inside.get(word) ?? 0) + 1);
    for (let gone = found[first]; gone && at - gone.at > PASSAGE_MAX - 2 * LEAD; ) {
      const left = (inside.get(gone.word) ?? 1) - 1;
      if (left === 0) inside.delete(gone.word);
      else inside.set(gone.word, left);
      first += 1;
      gone = found[first];
    }
    const start = Math.max(0, (found[first]?.at ?? at) - LEAD);
    if (inside.size > best.distinct) best = { distinct: inside.size, start };
  }
  return best.start;
}

function findWords(text: string, words: readonly SearchWord[]): { word: string; at: number }[] {
  if (words.length === 0) return [];
  const parts = words.map(({ word }) => stem(word)).sort((one, other) => other.length - one.length);
  // In scripts without spaces a word may begin anywhere; elsewhere only at a word boundary.
  const pattern = parts.map((part) =>
    SPACED(part).test(part) ? `(?<![\\p{L}\\p{N}])${part}` : part,
  );
  return [...text.matchAll(new RegExp(pattern.join("|"), "giu"))].map((match) => ({
    word: match[0].toLowerCase(),
    at: match.index,
  }));
}

/** Starts with a letter or digit of a script with spaces between words. */
const SPACED = unicodePattern(/^[A-Za-z0-9]/, {
  source: String.raw`^[\p{scx=Latn}\p{scx=Cyrl}\p{scx=Grek}\p{N}]`,
  flags: "u",
});

/** A rough stem of an English word, so that "running" also finds "runs". */
function stem(word: string): string {
  return word.length > 4 ? word.slice(0, Math.max(4, word.length - 3)) : word;
}

/** `index`, or one less if it would cut a character in two. */
function boundary(text: string, index: number): number {
  return /^[\uDC00-\uDFFF]/.test(text.slice(index, index + 1)) ? index - 1 : index;
}
