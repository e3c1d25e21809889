import type { MemoryHit } from "./memory-store.ts";
import { headWithin, utf8Bytes } from "./tokens.ts";

/** What ends a text that was cut to fit. */
const CUT_MARK = " […]";

/**
 * The first results whose texts, those of neighbours included, take no more than
 * `maxTokens` in all (UTF-8 bytes / 4). The best result is cut when it alone is more,
 * and comes without its neighbours when they do not fit, so that a small budget is
 * no empty answer.
 */
export function withinTokens(hits: readonly MemoryHit[], maxTokens: number): readonly MemoryHit[] {
  const bytesMax = maxTokens * 4;
  const kept: MemoryHit[] = [];
  let bytes = 0;
  for (const hit of hits) {
    bytes += bytesOf(hit);
    if (bytes > bytesMax) break;
    kept.push(hit);
  }
  const [best] = hits;
  return kept.length > 0 || !best ? kept : [cut(best, bytesMax)];
}

function bytesOf({ content, neighbours }: MemoryHit): number {
  const around = neighbours ? [...neighbours.before, ...neighbours.after] : [];
  return around.reduce((sum, entry) => sum + utf8Bytes(entry.content), utf8Bytes(content));
}

function cut({ neighbours: _, ...hit }: MemoryHit, bytesMax: number): MemoryHit {
  const content = headWithin(hit.content, bytesMax);
  if (content === hit.content) return hit;
  return { ...hit, content: headWithin(hit.content, bytesMax - utf8Bytes(CUT_MARK)) + CUT_MARK };
}
