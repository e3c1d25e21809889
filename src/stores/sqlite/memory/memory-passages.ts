import type { MemoryEntry } from "../../../core/memory-store.ts";
import { type IndexedPassage, indexedPassages } from "../../../search/indexed-passages.ts";

/** What lies beyond about four million words of one entry is kept and not found. */
const PASSAGES_MAX = 65_536;

/** The passages of an entry that the index has. */
export function passagesOf(
  entry: Pick<MemoryEntry, "content" | "speaker" | "time">,
): readonly IndexedPassage[] {
  const passages = indexedPassages(entry);
  return passages.length > PASSAGES_MAX ? passages.slice(0, PASSAGES_MAX) : passages;
}

/**
 * The passages of an entry that was stored as so many: its slots are its own, however a later
 * rkat cuts it.
 */
export function fittedPassages(
  entry: Pick<MemoryEntry, "content" | "speaker" | "time">,
  count: number,
): readonly IndexedPassage[] {
  const passages = passagesOf(entry);
  if (passages.length === count) return passages;
  const kept = passages.slice(0, count - 1);
  const rest = passages.slice(count - 1);
  const missing = Array.from({ length: Math.max(0, count - 1 - kept.length) }, () => NO_PASSAGE);
  return [...kept, ...missing, rest.length > 0 ? rest.reduce(joinPassages) : NO_PASSAGE];
}

const NO_PASSAGE: IndexedPassage = { words: new Map(), length: 0, flags: 0 };

function joinPassages(one: IndexedPassage, other: IndexedPassage): IndexedPassage {
  const words = new Map(one.words);
  for (const [word, hits] of other.words) words.set(word, Math.max(hits, words.get(word) ?? 0));
  return {
    words,
    length: Math.min(255, one.length + other.length),
    flags: one.flags | other.flags,
  };
}
