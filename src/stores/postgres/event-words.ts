import { HORIZON } from "./event-positions.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import type { Statements } from "./statements.ts";

/*
 * Words of events are indexed in blocks of events that follow each other in a namespace:
 *
 *     append ─► event.lexemes ─► pack ─► event_words
 *
 * A word that many events of a block have is written once for all of them. A search looks in the blocks, and in the words of
 * each event behind the last block. So it finds everything, however much is packed.
 */

/** A `tsvector` keeps 255 places of a word. */
const EVENTS_MAX = 255;
/** Fewer events are not packed: a search looks through them as fast. */
const EVENTS_MIN = 128;
/** Characters of words in a block. A `tsvector` has room for a megabyte, and each word of an event for itself fits. */
const BYTES_MAX = 600_000;
/** Blocks that a search packs first. Those of a log that was never packed come after it. */
const BLOCKS_MAX = 8;

/** The last position in a block of the namespace `$1`. */
const PACKED_TO = `coalesce((
  select last from rkat.event_words where namespace = $1 order by first desc limit 1), 0)`;

/** Packs the words of a database's events. */
export class EventWords {
  readonly #database: PostgresDatabase;
  /** Events that this process appended since it last packed, by their namespace. */
  readonly #appended = new Map<string, number>();
  /** What it packs beside appends and searches. */
  readonly #packing = new Map<string, Promise<void>>();

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** Says that events were appended. From some hundred on, they are packed beside what is done next. */
  appended(namespace: string, events: number): void {
    const count = (this.#appended.get(namespace) ?? 0) + events;
    this.#appended.set(namespace, count);
    if (count >= EVENTS_MAX) this.#packAside(namespace);
  }

  /** Packs what a search would else look through, and returns the last position in a block. */
  async pack(namespace: string): Promise<number> {
    const { last, more } = await this.#packSome(namespace, BLOCKS_MAX);
    if (more) this.#packAside(namespace);
    return last;
  }

  /** Resolves when nothing is packed any more. */
  async close(): Promise<void> {
    await Promise.all(this.#packing.values());
  }

  #packAside(namespace: string): void {
    if (this.#packing.has(namespace)) return;
    this.#appended.delete(namespace);
    // The next search does it too, and tells of a failure.
    const packing = this.#packSome(namespace, Number.POSITIVE_INFINITY)
      .then(() => {})
      .catch(() => {});
    this.#packing.set(
      namespace,
      packing.finally(() => this.#packing.delete(namespace)),
    );
  }

  async #packSome(namespace: string, blocks: number): Promise<Packed> {
    for (let packed = 0, last = 0; ; packed += 1) {
      const next = await this.#database.row<Next>(NEXT, namespace);
      last = Math.max(last, next?.packed ?? 0);
      if (!next?.last || this.#database.onlyReads) return { last, more: false };
      if (packed === blocks) return { last, more: true };
      try {
        const isDone = await this.#database.write(async (within) => {
          if (!(await within.row(TRY_LOCK, namespace))) return false;
          await within.change(PACK, namespace, next.first, next.last, next.positions);
          return true;
        });
        // Another process packs just now.
        if (!isDone) return { last, more: false };
      } catch {
        // A search finds the same without: a role that only reads may search too.
        return { last, more: false };
      }
    }
  }
}

interface Packed {
  /** The last position in a block; 0 when there is none. */
  readonly last: number;
  /** Whether there are events for another block. */
  readonly more: boolean;
}

/** What is packed, and the next block. */
interface Next {
  readonly packed: number;
  readonly first: number | null;
  readonly last: number | null;
  /** As PostgreSQL writes an array. */
  readonly positions: string;
}

/**
 * Takes the words of events that were changed or deleted in this transaction out of their blocks. Who packs in this moment
 * has seen the events as they were: it ends before, or begins after this transaction.
 */
export async function packAgain(
  within: Statements,
  namespace: string,
  positions: readonly number[],
): Promise<void> {
  await within.row(LOCK, namespace);
  await within.change(PACK_AGAIN, namespace, positions);
  await within.change(DROP_EMPTY, namespace);
}

/** A lock of the words of the namespace `$1`, until the transaction ends. */
const LOCK_KEY = "hashtextextended($1, $name$rkat.event_words$name$::regclass::oid::bigint)";
const LOCK = `select pg_advisory_xact_lock(${LOCK_KEY})`;
const TRY_LOCK = `select where pg_try_advisory_xact_lock(${LOCK_KEY})`;

/** The next block, if there are enough events for one. */
const NEXT = `
  select ${PACKED_TO} as packed, min(position) as first, max(position) as last,
    coalesce(array_agg(position order by position) filter (where lexemes is not null), '{}') as positions
  from (
    select position, lexemes, row_number() over (order by position) as place, count(*) over () as events,
      coalesce(sum(octet_length(lexemes::text)) over (order by position), 0) as bytes
    from (
      select position, lexemes from rkat.event
      where namespace = $1 and position > ${PACKED_TO}
        -- The server would expect much fewer events between two limits.
        and (position < ${HORIZON}) is true
      order by position limit ${EVENTS_MAX}
    ) as page
  ) as sized
  where events >= ${EVENTS_MIN} and (place = 1 or bytes <= ${BYTES_MAX})`;

/** The words of events. */
function stemsAt(positions: string): string {
  return `(
    select coalesce(string_agg(word || ':' || places, ' '), '')::tsvector from (
      select string_agg(place::text, ',') as places,
        '''' || replace(replace(lexeme, chr(92), repeat(chr(92), 2)), '''', repeat('''', 2)) || '''' as word
      from unnest(${positions}) with ordinality as said (position, place) cross join lateral (
        select lexemes from rkat.event where namespace = $1 and position = said.position offset 0
      ) as event, unnest(lexemes) group by lexeme
    ) as words)`;
}

/** Another process may have packed it a moment ago. */
const PACK = `
  insert into rkat.event_words (namespace, first, last, positions, stems)
  select $1, $2, $3, $4, ${stemsAt("$4::bigint[]")}
  where not exists (select from rkat.event_words where namespace = $1 and first >= $2::bigint)`;

const PACK_AGAIN = `
  update rkat.event_words as block set stems = ${stemsAt("block.positions")}
  where namespace = $1 and exists (
    select from unnest($2::bigint[]) as changed (position) where position between first and last)`;

const DROP_EMPTY = "delete from rkat.event_words where namespace = $1 and stems = ''::tsvector";
