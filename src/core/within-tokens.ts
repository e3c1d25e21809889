import { headWithin, utf8Bytes } from "./tokens.ts";

/** Ends a text that was cut. */
const CUT_MARK = " […]";

interface Passage {
  readonly content: string;
}

/** A search result. Its neighbours are what was said right before and after it. */
interface Result extends Passage {
  readonly neighbours?: { readonly before: readonly Passage[]; readonly after: readonly Passage[] };
}

/**
 * The first results whose texts, neighbours included, take at most `maxTokens`
 * together (UTF-8 bytes / 4). With `maxTokensEach`, longer texts are cut first.
 *
 * The best result always comes: without neighbours when they do not fit, and cut
 * when it alone is too long. Results that were changed are new objects.
 */
export function withinTokens<Hit extends Result>(
  hits: readonly Hit[],
  maxTokens: number,
  maxTokensEach = Number.POSITIVE_INFINITY,
): readonly Hit[] {
  const bytesMax = maxTokens * 4;
  const kept: Hit[] = [];
  let bytes = 0;
  for (const hit of hits) {
    const short = cut(hit, maxTokensEach * 4);
    bytes += bytesOf(short);
    if (bytes > bytesMax) break;
    kept.push(short);
  }
  const [best] = hits;
  if (kept.length > 0 || !best) return kept;
  const { neighbours: _, ...alone } = best;
  return [cut(alone as Hit, Math.min(maxTokens, maxTokensEach) * 4)];
}

function bytesOf({ content, neighbours }: Result): number {
  const around = neighbours ? [...neighbours.before, ...neighbours.after] : [];
  return around.reduce((sum, passage) => sum + utf8Bytes(passage.content), utf8Bytes(content));
}

function cut<Hit extends Result>(hit: Hit, bytesMax: number): Hit {
  const { content } = hit;
  if (content.length <= bytesMax && utf8Bytes(content) <= bytesMax) return hit;
  return { ...hit, content: headWithin(content, bytesMax - utf8Bytes(CUT_MARK)) + CUT_MARK };
}
