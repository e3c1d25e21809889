import type { MemoryHit, MemoryQuery } from "../../core/memory-store.ts";
import { bestFirst } from "../../search/best-first.ts";
import { passageScores } from "../../search/passage-scores.ts";
import { readQuestion } from "../../search/question.ts";
import {
  type Candidate,
  MEMORY_SCORE_FLOOR,
  scoreCandidates,
} from "../../search/rank-candidates.ts";
import { hashOfKey, textKey } from "../../search/text-key.ts";
import { memoryFilter } from "../memory-filter.ts";
import type { Connection } from "./connection.ts";
import { sessionOf } from "./memory-place.ts";
import { placesOfWords, scopeOf } from "./memory-places.ts";
import {
  entryOf,
  type MemoryRow,
  type MemoryRowHead,
  SELECT_MEMORY,
  SELECT_MEMORY_HEAD,
} from "./memory-row.ts";
import { namespaceNumber } from "./memory-session.ts";

/** Entries that are ranked; the best of them are the results. */
const CANDIDATES = 300;

/**
 * Finds entries by their words, best first; of two that score the same, the older comes first.
 *
 *     query ─► words ─► passages that have them, and how much of them ─► their entries
 *                                                        results ◄─ ranked ◄─┘ filtered
 *
 * Entries whose text is the query come before all others.
 */
export function searchMemories(
  db: Connection,
  namespace: string,
  query: MemoryQuery,
): readonly MemoryHit[] {
  return db.read(() => {
    const number = namespaceNumber(db, namespace);
    if (number === undefined || query.limit <= 0 || query.query.trim() === "") return [];
    const same = sameTexts(db, number, query);
    const positions = new Set(same.map(({ position }) => position));
    const scored = rankedEntries(db, number, query)
      .filter(({ position }) => !positions.has(position))
      .slice(0, query.limit - same.length);
    return [
      ...same.map((row) => ({ ...entryOf(row), score: 1 })),
      ...scored.flatMap(({ position, score }) =>
        db
          .all<MemoryRow>(`${SELECT_MEMORY} WHERE position = ?`, position)
          .map((row) => ({ ...entryOf(row), score })),
      ),
    ];
  });
}

/** The entries whose text is the query. */
function sameTexts(db: Connection, namespace: number, query: MemoryQuery): MemoryRow[] {
  const key = textKey(query.query);
  const wanted = memoryFilter(query);
  const found: MemoryRow[] = [];
  const rows = db.iterate<MemoryRow>(
    `${SELECT_MEMORY} WHERE text_hash = ? AND entry.namespace = ? ORDER BY position`,
    hashOfKey(key),
    namespace,
  );
  for (const row of rows) {
    if (wanted(filterable(row)) && textKey(row.content) === key) found.push(row);
    if (found.length === query.limit) break;
  }
  return found;
}

interface Found extends Candidate {
  readonly position: number;
}

function rankedEntries(
  db: Connection,
  namespace: number,
  query: MemoryQuery,
): readonly { readonly position: number; readonly score: number }[] {
  const question = readQuestion(query.query);
  const scope = scopeOf(db, namespace, query.sessionId);
  const shares = passageScores(placesOfWords(db, question.words, scope), scope.passages);
  const candidates = candidatesOf(db, shares, query);
  const scores = scoreCandidates(question, candidates);
  const floor = query.minScore ?? MEMORY_SCORE_FLOOR;
  return candidates
    .map(({ position }, index) => ({ position, score: scores[index] ?? 0 }))
    .filter(({ score }) => score >= floor)
    .sort((one, other) => other.score - one.score || one.position - other.position);
}

/** The entries of the best passages, among those that the query is about. */
function candidatesOf(
  db: Connection,
  shares: ReadonlyMap<number, number>,
  query: MemoryQuery,
): Found[] {
  const wanted = memoryFilter(query);
  const seen = new Set<number>();
  const found: Found[] = [];
  for (const [passage, share] of bestFirst(shares)) {
    const row = db.get<MemoryRowHead>(
      `${SELECT_MEMORY_HEAD} WHERE position <= ? ORDER BY position DESC LIMIT 1`,
      passage,
    );
    // A neighbour of a passage may not exist, or no more.
    if (!row || passage >= row.position + row.passages || seen.has(row.position)) continue;
    seen.add(row.position);
    if (!wanted(filterable(row))) continue;
    found.push({
      position: row.position,
      share,
      session: sessionOf(row.position),
      role: row.role ?? undefined,
      speaker: row.speaker ?? undefined,
      time: row.time ?? undefined,
      saysWhen: row.says_when === 1,
    });
    if (found.length === CANDIDATES) break;
  }
  return found;
}

function filterable(row: MemoryRowHead) {
  const { session_id, kind, role, time } = row;
  return {
    sessionId: session_id,
    kind,
    ...(role === null ? {} : { role }),
    ...(time === null ? {} : { time }),
  };
}
