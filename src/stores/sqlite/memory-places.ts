import { dateWord, speakerWord } from "../../search/indexed-words.ts";
import type { Place, WordPlaces } from "../../search/passage-scores.ts";
import { isDateWord } from "../../search/question.ts";
import { isBeginning } from "../../search/words.ts";
import type { Connection } from "./connection.ts";
import { placeOf, type Range, rowidsOf, sessionNumbers } from "./memory-place.ts";
import { memorySessions, passagesOf } from "./memory-session.ts";

/** What is searched: a namespace, or a session of it. */
export interface Scope {
  /** Session numbers. */
  readonly range: Range;
  readonly passages: number;
}

/** A session that has filled several numbers makes a scope that begins and ends with them. */
export function scopeOf(db: Connection, namespace: number, sessionId: string | undefined): Scope {
  if (sessionId === undefined) {
    return { range: sessionNumbers(namespace), passages: passagesOf(db, namespace) };
  }
  const sessions = memorySessions(db, namespace, sessionId);
  return {
    range: { first: sessions.at(0)?.number ?? -1, last: sessions.at(-1)?.number ?? -1 },
    passages: sessions.reduce((sum, { passages }) => sum + passages, 0),
  };
}

/** Where the words of a question are, without words that are nearly everywhere. */
export function placesOfWords(
  db: Connection,
  words: readonly string[],
  scope: Scope,
): readonly WordPlaces[] {
  const commonAt = Math.max(COMMON_MIN, Math.floor(scope.passages * COMMON_SHARE));
  const all = words.map((word) => placesOfWord(db, word, scope.range, commonAt));
  const telling = all.filter(
    ({ said, named }) => said.length < commonAt && named.length < commonAt,
  );
  if (telling.length > 0) return telling;
  return words.map((word) => placesOfWord(db, word, scope.range, -1));
}

/** Words that a tenth of many passages have tell nothing and cost most. */
const COMMON_SHARE = 0.1;
const COMMON_MIN = 2000;

function placesOfWord(db: Connection, word: string, range: Range, limit: number): WordPlaces {
  const find = (match: string) => places(db, match, range, limit);
  return {
    said: find(isBeginning(word) ? `"${word}"*` : `"${word}"`),
    named: find(`"${speakerWord(word)}"`),
    dated: isDateWord(word) ? find(`"${dateWord(word)}"`) : [],
  };
}

function places(db: Connection, match: string, range: Range, limit: number): Place[] {
  const { first, last } = rowidsOf(range);
  return db
    .all<{ rowid: number }>(
      "SELECT rowid FROM memory_words WHERE memory_words MATCH ? AND rowid BETWEEN ? AND ? LIMIT ?",
      match,
      first,
      last,
      limit,
    )
    .map(({ rowid }) => placeOf(rowid));
}
