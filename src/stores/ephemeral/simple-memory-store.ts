import { checkMethods } from "../../core/checked-methods.ts";
import {
  type EntryMarks,
  ifSureEnough,
  type MemoryCheck,
  type MemoryEntry,
  type MemoryHit,
  type MemoryPage,
  type MemoryQuery,
  type MemoryStats,
  type MemoryStore,
  memoryFilter,
  type ScorePart,
} from "../../core/memory-store.ts";
import { utf8Bytes } from "../../core/tokens.ts";
import { hasOnlyStopWords, readQuestion } from "../../indexing/score/question.ts";
import { reportedScore } from "../../indexing/score/score.ts";
import { isCommonWord } from "../../indexing/words/common-words.ts";
import { textKey } from "../../indexing/words/words.ts";
import { redactEntries } from "../../secrets/redact-secrets.ts";

/**
 * Keeps memory in this process, without an index. The first memory store to read.
 *
 * A search splits the query at its spaces, and leaves out stop words. An entry scores the share of these words that its text
 * contains, in any case and also inside of longer words. Words of any text ("use", "get") count less. 1 is left to the same text:
 *
 *     query "Parse errors"      entry "Parse errors!"               1
 *                               entry "The parser has no errors."   0.95
 *                               entry "Errors come first."          0.5
 *                               entry "All is well."                no result
 *     query "what is it"        entry "All is well."                no result: it names nothing
 *
 * It suits tests and small sessions. `sqliteStores({ path: ":memory:" })` has a memory without a file
 * that ranks, and is quick with any number of entries.
 */
export class SimpleMemoryStore implements MemoryStore {
  static {
    checkMethods("memory", SimpleMemoryStore);
  }
  /** In the order in which they were added. */
  readonly #entries = new Map<string, MemoryEntry>();

  async add(entries: readonly MemoryEntry[]): Promise<number> {
    const before = this.#entries.size;
    // Read all before storing any, so that a bad entry refuses the whole batch.
    const fresh = redactEntries(entries).filter(({ content }) => content.trim() !== "");
    for (const entry of fresh) {
      if (!this.#entries.has(entry.id)) this.#entries.set(entry.id, entry);
    }
    return this.#entries.size - before;
  }

  async search(query: MemoryQuery): Promise<readonly MemoryHit[]> {
    const { limit, minScore = 0, neighbours = 0, explain = false } = query;
    const questions = [query.query]
      .flat()
      .filter((text) => text.trim() !== "")
      .map((text) => ({ key: textKey(text), words: wordsOf(text) }));
    const found = this.#all()
      .filter(memoryFilter(query))
      .map((entry): MemoryHit => ({ ...entry, ...bestScore(entry, questions, explain) }))
      .filter(({ score }) => score > 0 && score >= minScore)
      .sort((one, other) => other.score - one.score)
      .slice(0, Math.max(0, limit));
    return ifSureEnough(found, query).map((hit) => ({ ...hit, ...this.#around(hit, neighbours) }));
  }

  async read(ids: readonly string[]): Promise<readonly MemoryEntry[]> {
    return ids.flatMap((id) => this.#entries.get(id) ?? []);
  }

  async list(page: MemoryPage): Promise<readonly MemoryEntry[]> {
    const all = this.#all();
    const start = page.after === undefined ? 0 : all.findIndex(({ id }) => id === page.after) + 1;
    const isMarked = ({ pinned, earlier }: MemoryEntry) => !page.marked || pinned || earlier;
    return all.slice(start).filter(memoryFilter(page)).filter(isMarked).slice(0, page.limit);
  }

  async mark(id: string, marks: EntryMarks): Promise<boolean> {
    const { pinned: _, earlier: __, ...entry } = this.#entries.get(id) ?? {};
    if (!("content" in entry)) return false;
    for (const marked of redactEntries([{ ...entry, ...marks }])) this.#entries.set(id, marked);
    return true;
  }

  async stats(of?: { readonly sessionId: string }): Promise<MemoryStats> {
    const entries = this.#all().filter(
      ({ sessionId }) => of === undefined || sessionId === of.sessionId,
    );
    return {
      entries: entries.length,
      sessions: new Set(entries.map(({ sessionId }) => sessionId)).size,
      textBytes: entries.reduce((sum, { content }) => sum + utf8Bytes(content), 0),
      index: "none: every search reads all entries",
    };
  }

  async delete(
    which: { readonly ids: readonly string[] } | { readonly sessionId: string },
  ): Promise<number> {
    const ids =
      "ids" in which
        ? which.ids
        : this.#all()
            .filter(({ sessionId }) => sessionId === which.sessionId)
            .map(({ id }) => id);
    return ids.filter((id) => this.#entries.delete(id)).length;
  }

  async verify(): Promise<MemoryCheck> {
    return { entries: this.#entries.size, problems: [] };
  }

  async reindex(): Promise<void> {}

  async close(): Promise<void> {
    this.#entries.clear();
  }

  #all(): MemoryEntry[] {
    return [...this.#entries.values()];
  }

  #around({ id, sessionId }: MemoryEntry, count: number): Pick<MemoryHit, "neighbours"> {
    if (count <= 0) return {};
    const session = this.#all().filter((entry) => entry.sessionId === sessionId);
    const place = session.findIndex((entry) => entry.id === id);
    const before = session.slice(Math.max(0, place - count), place);
    return { neighbours: { before, after: session.slice(place + 1, place + 1 + count) } };
  }
}

/** The words at its spaces, without stop words unless they are a name. */
function wordsOf(text: string): readonly AskedWord[] {
  const all = text.toLowerCase().split(/\s+/).filter(Boolean);
  const asked = hasOnlyStopWords(text)
    ? readQuestion(text).words
    : all.filter((word) => !hasOnlyStopWords(word));
  return asked.map((word) => ({ word, counts: isCommonWord(word) ? COMMON_COUNTS : 1 }));
}

/** That a text lacks "use" or "get" tells little. */
const COMMON_COUNTS = 0.3;

interface AskedWord {
  readonly word: string;
  readonly counts: number;
}

function sumOf(words: readonly AskedWord[]): number {
  return words.reduce((sum, { counts }) => sum + counts, 0);
}

interface Question {
  readonly key: string;
  /** Without words, only the same text answers it. */
  readonly words: readonly AskedWord[];
}

/** The best score over all questions. */
function bestScore(
  { content }: MemoryEntry,
  questions: readonly Question[],
  explain: boolean,
): Pick<MemoryHit, "score" | "explanation"> {
  const text = content.toLowerCase();
  let score = 0;
  let parts: readonly ScorePart[] = [];
  const own = textKey(content);
  for (const { key, words } of questions) {
    const found = words.filter(({ word }) => text.includes(word));
    const all = sumOf(words);
    const share = key === own ? 1 : reportedScore(all === 0 ? 0 : sumOf(found) / all);
    if (share <= score) continue;
    score = share;
    parts = found.map(({ word, counts }) => ({ name: "word", of: word, adds: counts / all }));
  }
  return { score, ...(explain ? { explanation: { parts } } : {}) };
}
