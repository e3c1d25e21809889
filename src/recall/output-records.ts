import { contentWords } from "../compaction/content-words.ts";
import type { RecalledRecord } from "../core/event.ts";
import type { HistoryHit } from "../core/event-store.ts";
import type { MemoryEntry } from "../core/memory-store.ts";
import { recordsWithin } from "../core/recalled.ts";
import { type RecordChoice, recordOf } from "./choose-records.ts";
import { oneLine, sentencesOf, wordsShared } from "./quoted-passage.ts";

/** Results of a search of the log that are looked at. */
export const OUTPUTS_SEARCHED = 40;

/** A prompt with fewer words of its own is in too many outputs by chance. */
const WORDS_MIN = 3;

/** Whether the outputs of a session may have records of a prompt. Others need no search of its log. */
export function mayBeInOutputs(query: string): boolean {
  return new Set(contentWords(query)).size >= WORDS_MIN;
}

/** From so many words on, one may be missing. */
const WORDS_MANY = 5;
const RECORDS_MAX = 3;
/** Characters of a line. Of a longer one, its sentences are looked at. */
const LINE_MAX = 300;

/**
 * Records of what tools said, from the log of a session whose outputs are not in memory: the lines that have the words of
 * the prompt together. The score of a log says how rare its words are, and not how sure it is. So there is
 * another bar:
 *
 *     prompt   Which port does the staging server use?        port, staging, server
 *     output   # servers
 *              staging: the server listens on port 4310       all of them in one line: a record
 *              the port of production is 443                  one: none
 */
export function outputRecords(
  hits: readonly HistoryHit[],
  { query, tokensMax, sessionId, isNew }: Omit<RecordChoice, "bar">,
): { readonly records: readonly RecalledRecord[]; readonly tokens: number } {
  const words = new Set(contentWords(query));
  if (words.size < WORDS_MIN) return { records: [], tokens: 0 };
  const needed = words.size < WORDS_MANY ? words.size : words.size - 1;
  const found = hits.flatMap((hit) => {
    const entry = entryOf(hit);
    if (hit.role !== "tool" || !isNew(entry)) return [];
    const best = bestLine(hit.content, words);
    return best.shared < needed
      ? []
      : [{ entry, text: best.line, score: best.shared / words.size }];
  });
  const lines = new Map(found.map((one) => [one.text, one]));
  const first = [...lines.values()]
    .toSorted((one, other) => other.score - one.score)
    .slice(0, RECORDS_MAX);
  return recordsWithin(tokensMax, first, (one) => recordOf(one, { words, sessionId }));
}

/** The message of the log, as memory would have it. */
function entryOf({ sessionId, seq, turn, role, time, content }: HistoryHit): MemoryEntry {
  const source = { from: seq, to: seq };
  return {
    id: `${sessionId}:${seq}`,
    sessionId,
    turn,
    kind: "message",
    role,
    time,
    content,
    source,
  };
}

function bestLine(text: string, words: ReadonlySet<string>) {
  let best = { line: "", shared: 0 };
  for (const line of text.split("\n")) {
    const parts = line.length > LINE_MAX ? sentencesOf(line) : [line];
    for (const part of parts) {
      const shared = wordsShared(part, words);
      if (shared > best.shared) best = { line: oneLine(part), shared };
    }
  }
  return best;
}
