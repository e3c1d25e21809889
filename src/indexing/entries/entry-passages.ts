import type { MemoryEntry } from "../../core/memory-store.ts";
import { type IndexedPassage, indexedPassages } from "../../search/indexed-passages.ts";
import { passages } from "../../search/passages.ts";

/** Text beyond about four million words of one entry is kept and not found. */
const PASSAGES_MAX = 65_536;

/** The texts of the passages that the index has of an entry. */
export function textsOf(content: string): readonly string[] {
  return passages(content).slice(0, PASSAGES_MAX);
}

type Said = Pick<MemoryEntry, "content" | "speaker" | "time">;

/** The passages that the index has of an entry. */
export function passagesOf(entry: Said): readonly IndexedPassage[] {
  const all = indexedPassages(entry);
  return all.length > PASSAGES_MAX ? all.slice(0, PASSAGES_MAX) : all;
}

/** The passages of an entry that was stored with `count` of them: it keeps its slots, however a later rkat cuts it. */
export function fittedPassages(entry: Said, count: number): readonly IndexedPassage[] {
  const all = passagesOf(entry);
  if (all.length === count) return all;
  const kept = all.slice(0, count - 1);
  const rest = all.slice(count - 1);
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
