import { hash } from "node:crypto";
import type { Embedder } from "../../core/embedder.ts";
import { STOP_WORDS } from "../../search/stop-words.ts";
import { words } from "../../search/words.ts";

/**
 * What an embedder is given of a text. A model reads the text. One that only counts
 * words gets its telling words, cut as the word index cuts them: itself it would cut at
 * spaces, know no word before a comma, and nothing of what is written without spaces.
 */
export function embeddableText(text: string, { trained }: Embedder): string {
  if (trained) return text;
  const telling = words(text).filter((word) => !STOP_WORDS.has(word));
  return telling.join(" ") || text;
}

/** Who makes vectors, of what: an index is of no use to another one. */
export function vectorSource(embedder: Embedder): string {
  return embedder.trained
    ? embedder.id
    : `${embedder.id} of ${hash("sha1", embeddableText(SAMPLE, embedder))}`;
}

/** Words of every kind: when they are cut in another way, the vectors of before are of no use. */
const SAMPLE =
  "Caroline's café went to run_tests getUserName src/turn_id.ts 1,000 at 10:30 running 東京都に เชียงใหม่ 서울에서 Straße 🎉";
