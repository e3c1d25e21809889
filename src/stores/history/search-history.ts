import type { HistoryHit, HistoryQuery, PositionedEvent } from "../../core/event-store.ts";
import { timeSpan } from "../../core/instant.ts";
import { sessionTest } from "../../core/memory-filter.ts";
import { type EventText, shownText } from "./event-text.ts";
import { passage } from "./passage.ts";
import { type SearchWord, searchWords, wordsOf } from "./search-words.ts";

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
    .map(({ event, role, speaker, text }) => ({
      sessionId: event.sessionId,
      seq: event.stored.seq,
      turn: turnOf(event),
      role,
      ...(speaker === undefined ? {} : { speaker }),
      time: new Date(event.stored.timestamp_ms).toISOString(),
      content: passage(text, words),
    }));
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

function turnOf({ turns }: PositionedEvent): number {
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
