import type { KnowledgeEntry } from "../core/knowledge.ts";
import { marksAt, textsAt } from "../core/memory-store.ts";
import { instant } from "../text/time/instant.ts";

/**
 * An entry at a time, in Unix milliseconds; undefined if it was not known yet. Of one that was heard again since, the
 * first time is known and no other.
 *
 *     heard    1 May, 3 June "npm"
 *     edited   5 June "pnpm"
 *     2 May    "npm", heard once, on 1 May
 *     6 June   "pnpm", heard twice, on 3 June last
 */
export function asItWas(entry: KnowledgeEntry, ms: number): KnowledgeEntry | undefined {
  if (instant(entry.time) > ms) return undefined;
  const { earlier = [], keeps: _, usedAt, lastTime, ...rest } = entry;
  const [said] = textsAt(earlier, ms);
  const marks = marksAt(entry, ms);
  const isHeardSince = instant(lastTime) > ms;
  return {
    ...rest,
    ...(said ? { content: said.content, edited: marks.earlier !== undefined } : {}),
    ...marks,
    ...(isHeardSince ? { lastTime: entry.time, count: 1 } : { lastTime }),
    ...(usedAt !== undefined && instant(usedAt) <= ms ? { usedAt } : {}),
  };
}
