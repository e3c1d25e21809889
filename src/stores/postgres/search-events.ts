import type { DurableEvent } from "../../core/event.ts";
import type { HistoryHit, HistoryQuery } from "../../core/event-store.ts";
import { STOP_WORDS } from "../../indexing/words/english.ts";
import { askedWords, isBeginning, stem, stemsOf } from "../../indexing/words/words.ts";
import { eventText } from "../history/event-text.ts";
import { type FoundRow, hitIn, timeRange } from "../history/search-history.ts";
import { searchWords } from "../history/search-words.ts";
import { eventIn } from "../history/stored-event.ts";
import type { InPartition } from "./partitions.ts";
import { indexedStems, namespaceMark, STEMS_EVERYWHERE } from "./plain-schema.ts";
import type { PostgresDatabase } from "./postgres-database.ts";

/**
 * Finds events by the words of their text. An event scores by the words of the query that it has, and
 * rare words count more. Of equal events the newer comes first.
 *
 * PostgreSQL's own ranking (`ts_rank`) does not know which words are rare.
 */
export async function searchEvents(
  database: PostgresDatabase,
  { namespace, inPartition }: { readonly namespace: string; readonly inPartition: InPartition },
  query: HistoryQuery,
): Promise<readonly HistoryHit[]> {
  const stems = askedStems(query.query);
  const asked = stems.map((word) => (isBeginning(word) ? `${quoted(word)}:*` : quoted(word)));
  const isIndexed = !stems.some((word) => STEMS_EVERYWHERE.has(word));
  const statement = inPartition(isIndexed ? SEARCH : SEARCH_EVERYWHERE);
  if (asked.length === 0 || query.limit <= 0) return [];
  const words = searchWords(query.query);
  const { sinceMs, untilMs } = timeRange(query);
  const { only, except } = { only: undefined, except: undefined, ...query.sessions };
  const hits: HistoryHit[] = [];
  const seen = new Set<string>();
  for (let skip = 0; ; ) {
    // Some of those found may be searches, which are not shown.
    const count = 2 * query.limit + 10;
    const rows = await database.rows<FoundRow & Before>(
      statement,
      namespace,
      asked,
      asked.map((word) => word.replace("'", "' ")).join("|"),
      query.sessionId ?? null,
      query.fromTurn ?? 0,
      query.toTurn ?? Number.MAX_SAFE_INTEGER,
      sinceMs,
      untilMs,
      count,
      skip,
      only ?? null,
      except ?? null,
    );
    // A database that gives the same page again and again would be asked for ever.
    const last = rows.at(-1);
    const place = `${last?.session_id} ${last?.seq}`;
    if (seen.has(place)) return hits;
    seen.add(place);
    for (const row of rows) {
      const { before, seq } = row;
      const hit = hitIn(row, words, () => (before === null ? undefined : eventIn(before, seq - 1)));
      if (hit) hits.push(hit);
      if (hits.length === query.limit) return hits;
    }
    if (rows.length < count) return hits;
    skip += count;
  }
}

interface Before {
  /** The previous event of the session. */
  readonly before: string | null;
}

/** Finds events of a namespace that meet a condition. In `$3`, a space stands where the mark of the namespace belongs. */
const search = (isFound: string) => `
  with found as materialized (
    select position, session_id, log, seq, stems, event.turns, timestamp_ms
    from (
      select position, log, seq, stems, turns, timestamp_ms from rkat.event as event
      where ${isFound} and coalesce(stems @@ replace($3, ' ', '')::tsquery, false)
      -- The sessions are joined to what was found, not the other way round.
      offset 0
    ) as event join rkat.log on key = log
    where log.namespace = $1 and ($4::text is null or session_id = $4)
  ), asked as materialized (
    select word::tsquery as word,
      ln(1 + (select count(*) from found) / greatest(count(position), 1)::float8) as weight
    from unnest($2::text[]) as question (word) left join found on stems @@ word::tsquery
    group by word
  ), best as (
    select position, session_id, log, seq, sum(weight) as score
    from found join asked on stems @@ word
    where greatest(turns - 1, 0) between $5::bigint and $6::bigint
      and timestamp_ms between $7::bigint and $8::bigint
      and ($11::text[] is null or session_id = any($11))
      and ($12::text[] is null or session_id <> all($12))
    group by position, session_id, log, seq
    order by score desc, position desc limit $9 offset $10
  )
  select session_id, best.seq, event.turns, event.timestamp_ms, event.event_id, event.event,
    previous.event as before
  from best join rkat.event as event on event.log = best.log and event.seq = best.seq
    left join rkat.event as previous on previous.log = best.log and previous.seq = best.seq - 1
  order by best.score desc, best.position desc`;

/**
 * By the index of words. PostgreSQL does not know how rare these words are, and takes each one of a question for a frequent one. So it is
 * not shown them before it plans. The conditions after it cost less where no index is used. No other index knows them: it would be read
 * for all of a namespace.
 */
const SEARCH = search(`
  ${indexedStems("event.")} @@ (select replace($3::text, ' ', ${namespaceMark("$1::text")})::tsquery)
  and (namespace = $1) is true`);

/** For words that the index leaves out. */
const SEARCH_EVERYWHERE = search("namespace = $1 and $3::text is not null");

/** A `tsvector` has room for a megabyte. What a longer text says last is not found. */
const VECTOR_BYTES_MAX = 900_000;

/**
 * The words by which a search finds an event, as the text of a `tsvector`; `null` when it has none.
 *
 * The words are rkat's own, as in memory, because PostgreSQL has no words for scripts without spaces.
 */
export function eventWords(event: DurableEvent): string | null {
  const said = eventText(event);
  if (!said) return null;
  const words = stemsOf(said.text);
  const text = quotedAll(words);
  // A character has at most three bytes for each unit of its length.
  const isShort = 3 * text.length + ENTRY_BYTES * words.length <= VECTOR_BYTES_MAX;
  return (isShort ? text : quotedAll(fitting(words))) || null;
}

/** Bytes of a `tsvector` for each word, beside the word itself. */
const ENTRY_BYTES = 8;

/** The first of the words, as many as a `tsvector` has room for. */
function fitting(words: readonly string[]): readonly string[] {
  let bytes = 0;
  return words.filter((word) => {
    bytes += Buffer.byteLength(word) + ENTRY_BYTES;
    return bytes <= VECTOR_BYTES_MAX;
  });
}

/** More words make a search slower, but not better. */
const WORDS_MAX = 64;

/** The stems of a question's words, and single characters that are the beginning of words; empty when it has none. */
function askedStems(query: string): readonly string[] {
  const all = askedWords(query);
  const meaningful = all.filter((word) => !STOP_WORDS.has(word));
  const asked = (meaningful.length > 0 ? meaningful : all).map((word) =>
    isBeginning(word) ? word : stem(word),
  );
  return [...new Set(asked)].slice(0, WORDS_MAX);
}

function quotedAll(words: readonly string[]): string {
  return words.map(quoted).join(" ");
}

function quoted(word: string): string {
  if (!/['\\]/.test(word)) return `'${word}'`;
  return `'${word.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
