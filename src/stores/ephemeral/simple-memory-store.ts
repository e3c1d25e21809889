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
  matchOfHit,
  memoryFilter,
} from "../../core/memory-store.ts";
import { checkMethods } from "../../core/store-arguments.ts";
import { utf8Bytes } from "../../core/tokens.ts";
import { hasOnlyStopWords, readQuestion } from "../../indexing/score/question.ts";
import { ODDS, reportedMatch, scoresOf } from "../../indexing/score/score.ts";
import { isCommonWord } from "../../indexing/words/common-words.ts";
import { otherWays, withOtherWay } from "../../indexing/words/definitions.ts";
import { foldText } from "../../indexing/words/fold-text.ts";
import { hasTextKey, textKey } from "../../indexing/words/words.ts";
import { redactEntries } from "../../secrets/redact-secrets.ts";

/**
 * Keeps memory in this process, without an index. The first memory store to read.
 *
 * A search splits the query at its spaces, and leaves out stop words. The match of an entry is the share of these words that its
 * text contains, in any case, without accents, and also inside of longer words. Words of any text ("use", "get") count less. 1 is left to the same
 * text. The score says how sure it is:
 *
 *                                                                   match        score
 *     query "Parse errors"      entry "Parse errors!"               1            1
 *                               entry "The parser has no errors."   0.95         0.76
 *                               entry "Errors come first."          0.5          0.53
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
    const { limit } = query;
    const texts = [query.query].flat().filter((one) => one.trim() !== "");
    let hits = this.#find(query, texts);
    // A question with a least score has no guesses.
    if (query.bestMatch === undefined) {
      for (const { text, means } of otherWays(texts, hits)) {
        hits = withOtherWay(hits, this.#find(query, [text]), means);
      }
    }
    const first = hits
      .filter(({ score }) => score >= (query.minScore ?? 0))
      .slice(0, Math.max(0, limit));
    return ifSureEnough(first, query).map((hit) => ({ ...hit, ...this.#around(hit, query) }));
  }

  #find(query: MemoryQuery, texts: readonly string[]): readonly MemoryHit[] {
    const wanted = this.#all().filter(memoryFilter(query));
    const asked = { passages: this.#entries.size, explain: query.explain ?? false };
    const best = new Map<string, MemoryHit>();
    for (const text of texts) {
      for (const hit of found(wanted, text, asked)) {
        const { score } = best.get(hit.id) ?? hit;
        if (hit.score >= score) best.set(hit.id, hit);
      }
    }
    return [...best.values()].sort((one, other) => other.score - one.score);
  }

  async read(ids: readonly string[]): Promise<readonly MemoryEntry[]> {
    return ids.flatMap((id) => this.#entries.get(id) ?? []);
  }

  async list(page: MemoryPage): Promise<readonly MemoryEntry[]> {
    const all = this.#all();
    const start = page.after === undefined ? 0 : all.findIndex(({ id }) => id === page.after) + 1;
    const isMarked = ({ pinned, earlier, keeps }: MemoryEntry) =>
      !page.marked || pinned || earlier || keeps;
    return all.slice(start).filter(memoryFilter(page)).filter(isMarked).slice(0, page.limit);
  }

  async mark(id: string, marks: EntryMarks): Promise<boolean> {
    const { pinned: _, earlier: __, keeps: ___, ...entry } = this.#entries.get(id) ?? {};
    if (!("content" in entry)) return false;
    const given = Object.fromEntries(
      Object.entries(marks).filter(([, mark]) => mark === true || mark?.length > 0),
    );
    for (const marked of redactEntries([{ ...entry, ...given }])) this.#entries.set(id, marked);
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

  #around(
    { id, sessionId, ...hit }: MemoryHit,
    { neighbours: count = 0, neighboursMatch = 0 }: MemoryQuery,
  ): Pick<MemoryHit, "neighbours"> {
    if (count <= 0 || matchOfHit(hit) < neighboursMatch) return {};
    const session = this.#all().filter((entry) => entry.sessionId === sessionId);
    const place = session.findIndex((entry) => entry.id === id);
    const before = session.slice(Math.max(0, place - count), place);
    return { neighbours: { before, after: session.slice(place + 1, place + 1 + count) } };
  }
}

/** The words at its spaces, without stop words unless they are a name. */
function wordsOf(text: string): readonly AskedWord[] {
  const all = foldText(text).split(/\s+/).filter(Boolean);
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

/** The least match of a result that a lead is measured with. */
const FLOOR = 0.1;

/** The entries that have words of a question, the best first. */
function found(
  entries: readonly MemoryEntry[],
  query: string,
  { passages, explain }: { readonly passages: number; readonly explain: boolean },
): readonly MemoryHit[] {
  const words = wordsOf(query);
  const all = sumOf(words);
  const own = textKey(query);
  const matched = entries
    .map((entry) => {
      const text = foldText(entry.content);
      const has = words.filter(({ word }) => text.includes(word));
      const isSame = hasTextKey(entry.content, own);
      const match = isSame ? 1 : reportedMatch(all === 0 ? 0 : sumOf(has) / all);
      const parts = has.map(({ word, counts }) => ({ name: "word", of: word, adds: counts / all }));
      return { ...entry, match, ...(explain ? { explanation: { parts } } : {}) };
    })
    .filter(({ match }) => match > 0)
    .sort((one, other) => other.match - one.match);
  const others = matched.filter(({ match }) => match < 1);
  const asked = { words: words.length, passages, floor: FLOOR };
  const scores = scoresOf(
    others.map(({ match }) => match),
    asked,
    ODDS.share,
  );
  const same = matched.slice(0, matched.length - others.length);
  return [
    ...same.map((entry) => ({ ...entry, score: 1 })),
    ...others.map((entry, at) => ({ ...entry, score: scores[at] ?? 0 })),
  ];
}
