import type { MemoryEntry } from "../../core/memory-store.ts";
import { HITS, type IndexedPassage, indexedPassages } from "../../search/indexed-passages.ts";
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
  const none = { ...(all[0] as IndexedPassage), words: new Int32Array(), length: 0, flags: 0 };
  const kept = all.slice(0, count - 1);
  const rest = all.slice(count - 1);
  const missing = Array.from({ length: Math.max(0, count - 1 - kept.length) }, () => none);
  return [...kept, ...missing, rest.length > 0 ? rest.reduce(joinPassages) : none];
}

function joinPassages(one: IndexedPassage, other: IndexedPassage): IndexedPassage {
  const words = new Map<number, number>();
  for (const packed of [...one.words, ...other.words]) {
    const word = Math.floor(packed / HITS);
    words.set(word, Math.max(packed % HITS, words.get(word) ?? 0));
  }
  return {
    vocabulary: one.vocabulary,
    words: Int32Array.from(words, ([word, hits]) => word * HITS + hits),
    length: Math.min(255, one.length + other.length),
    flags: one.flags | other.flags,
  };
}
