import { SessionError } from "../../core/errors.ts";
import type { MemoryCheck } from "../../core/memory-store.ts";
import type { PassageIndex, Postings } from "../passages/passage-index.ts";
import {
  type Asking,
  ask,
  checked,
  question,
  report,
  searchedOf,
  together,
  transaction,
} from "../port/asking.ts";
import type { Counts, EntryRow, Head, Segment } from "../port/index-store.ts";
import { COLUMNS, newColumns, recordsOf } from "../segments/columns.ts";
import { columnsOf, placedEntry, wordsOf } from "../segments/entries.ts";
import { linksOf } from "../segments/runs.ts";
import { compareWords, pairsOf } from "../segments/sorted-words.ts";
import { wordBytes } from "../segments/word-block.ts";
import { BlockPage, WordBlocks } from "../segments/word-blocks.ts";
import { hashOfKey } from "../words/vocabulary.ts";
import { vectorProblems } from "./verify-vectors.ts";

const PROBLEMS_MAX = 100;
/** Entries, and blocks of words, that one step reads. */
const STEP = 500;
const STEP_BLOCKS = 250;

/** The part of an open index that the check reads. */
interface CheckedIndex extends Pick<PassageIndex, "columns" | "details" | "postings"> {
  catchUp(wanted: { readonly words: readonly string[] }): Asking<unknown>;
}

/**
 * Compares the index with the entries, and lists the problems. It reports its progress. `open` returns an
 * index that has read nothing yet.
 */
export function verifyIndex(open: () => CheckedIndex): Asking<MemoryCheck> {
  return transaction("read", () => new Verification(open()).run());
}

/**
 * Compares sums: for each slot one over its words as its entry says, and one as the index has them. It
 * looks more closely only where they differ.
 */
class Verification {
  readonly #index: CheckedIndex;
  readonly #problems: string[] = [];
  #expected = new Uint32Array();
  #found = new Uint32Array();
  /** The first slot of each slot's entry, plus 1; 0 for a slot without an entry. */
  #taken = new Uint32Array();
  #passages = 0;

  constructor(index: CheckedIndex) {
    this.#index = index;
  }

  *run(): Asking<MemoryCheck> {
    const [found, counts] = yield* together(question("head"), question("recount"));
    const head = checked(found);
    if (!head) return { entries: 0, problems: [] };
    const total = counts.entries;
    this.#expected = new Uint32Array(head.slots);
    this.#found = new Uint32Array(head.slots);
    this.#taken = new Uint32Array(head.slots);
    yield* report({ done: 0, total });
    for (const part of [this.#compare(head, counts), this.#compareVectors()]) {
      try {
        yield* part;
      } catch (error) {
        // This part of the index cannot be read to its end.
        if (!SessionError.is(error)) throw error;
        this.#report(error.message);
      }
    }
    return { entries: total, problems: this.#problems };
  }

  *#compareVectors(): Asking<void> {
    for (const problem of yield* vectorProblems(this.#taken)) this.#report(problem);
  }

  *#compare(head: Head, counts: Counts): Asking<void> {
    const total = counts.entries;
    yield* this.#index.catchUp({ words: [] });
    for (let after = -1, checkedEntries = 0; ; ) {
      const rows: readonly EntryRow[] = yield* ask("entries", { after, limit: STEP });
      for (const row of rows) this.#checkEntry(row);
      const last = rows.at(-1);
      if (!last) break;
      after = last.key;
      checkedEntries += rows.length;
      // The second half of the work is to read the index.
      yield* report({ done: Math.floor(checkedEntries / 2), total });
    }
    const segments = searchedOf(head, yield* ask("segments"));
    const postings = segments.reduce((sum, segment) => sum + segment.postings, 0);
    let read = 0;
    for (const segment of segments) {
      let count = 0;
      for (let start: Uint8Array | undefined = NOTHING; start; ) {
        const page: WordPage = yield* readPage(segment, start);
        count += this.#checkWords(segment, page.words);
        start = page.next;
        const share = Math.min(1, (read + count) / postings);
        yield* report({ done: Math.floor(total / 2 + (total / 2) * share), total });
      }
      read += count;
      if (count !== segment.postings) {
        this.#report(
          `Segment ${segment.number} should have ${segment.postings} places of words, and has ${count}.`,
        );
      }
    }
    yield* this.#checkSlots();
    yield* this.#checkLinks();
    if (this.#passages !== head.passages) {
      this.#report(`The memory should have ${head.passages} passages, and has ${this.#passages}.`);
    }
    for (const { id } of counts.sessions) this.#report(`The counts of session ${id} are wrong.`);
    for (const { text } of counts.labels) this.#report(`The uses of the label ${text} are wrong.`);
  }

  #checkEntry(row: EntryRow): void {
    const entry = placedEntry(row);
    this.#passages += row.passages;
    for (let slot = row.slot; slot < row.slot + row.passages; slot += 1) {
      if (slot >= this.#taken.length) this.#report(`Entry ${row.id} is beyond all slots.`);
      else if (this.#taken[slot] !== 0)
        this.#report(`Slot ${slot} belongs to two entries, one is ${row.id}.`);
      else this.#taken[slot] = row.slot + 1;
    }
    for (const [word, { slots, hits }] of pairsOf(wordsOf([entry]))) {
      addWord(this.#expected, word, slots, hits);
    }
    const wanted = recordsOf([{ ...entry, columns: columnsOf(row) }], []);
    for (const [at, slot] of wanted.slots.entries()) {
      const columns = { ...this.#index.columns, ...this.#index.details(slot) };
      const wrong = COLUMNS.filter(
        (name) => !Object.is(wanted.columns[name][at], columns[name][slot]),
      );
      if (wrong.length > 0) {
        this.#report(`The index has another ${wrong.join(", ")} of entry ${row.id}.`);
      }
    }
  }

  /** Adds the words of a page to the sums, and returns how many postings they have. */
  #checkWords({ number }: Segment, words: Iterable<readonly [string, Postings]>): number {
    let before = "";
    let count = 0;
    for (const [word, { slots, hits }] of words) {
      if (before !== "" && compareWords(before, word) >= 0) {
        this.#report(`Words of segment ${number} are not in order.`);
      }
      before = word;
      count += slots.length;
      let last = -1;
      for (const slot of slots) {
        if (slot <= last)
          this.#report(`The places of a word of ${word.length} characters are not in order.`);
        if (slot >= this.#taken.length) this.#report("The index has a word beyond all slots.");
        last = slot;
      }
      addWord(this.#found, word, slots, hits);
    }
    return count;
  }

  *#checkSlots(): Asking<void> {
    const { columns } = this.#index;
    const wrong = new Set<number>();
    for (let slot = 0; slot < this.#taken.length; slot += 1) {
      const entry = (this.#taken[slot] ?? 0) - 1;
      if (this.#expected[slot] !== this.#found[slot]) wrong.add(entry);
      if (entry < 0 && columns.session[slot] !== 0) {
        this.#report(`The index has a passage in slot ${slot}, where there is no entry.`);
      }
    }
    if (wrong.delete(-1)) this.#report("The index has words of an entry that is no more.");
    for (const row of yield* ask("entries", { slots: [...wrong].slice(0, PROBLEMS_MAX) })) {
      yield* this.#describe(row);
    }
  }

  /** Reports the difference between the index and the text of an entry. */
  *#describe(row: EntryRow): Asking<void> {
    const words = pairsOf(wordsOf([placedEntry(row)]));
    yield* this.#index.catchUp({ words: words.map(([word]) => word) });
    const missing = words.filter(([word, { slots }]) => {
      const found = new Set(this.#index.postings(word).slots);
      return slots.some((at) => !found.has(at));
    });
    this.#report(
      missing.length > 0
        ? `The index lacks ${missing.length} words of entry ${row.id}.`
        : `The index has other words than entry ${row.id}.`,
    );
  }

  *#checkLinks(): Asking<void> {
    const { session, entry } = this.#index.columns;
    const expected = newColumns(this.#taken.length).entry;
    for (const { runs } of yield* ask("sessions", "all")) {
      for (const { slot, to } of linksOf(runs)) expected[slot] = to;
    }
    for (let slot = 0; slot < expected.length; slot += 1) {
      if (session[slot] !== 0 || entry[slot] === expected[slot]) continue;
      this.#report(`Slot ${slot} leads to ${entry[slot]}, and should lead to ${expected[slot]}.`);
    }
  }

  #report(problem: string): void {
    if (this.#problems.length < PROBLEMS_MAX && !this.#problems.includes(problem)) {
      this.#problems.push(problem);
    }
  }
}

const NOTHING = new Uint8Array();

interface WordPage {
  readonly words: Iterable<readonly [string, Postings]>;
  /** Where the next page begins; `undefined` behind the last. */
  readonly next: Uint8Array | undefined;
}

/** The words of a segment from `start` on, those of some blocks. */
function* readPage(segment: Segment, start: Uint8Array): Asking<WordPage> {
  if (segment.level === 0) {
    const [blob] = yield* ask("smallSegments", [segment.number]);
    return { words: WordBlocks.ofSmall(blob?.words ?? null).words(), next: undefined };
  }
  for (let limit = STEP_BLOCKS; ; limit *= 2) {
    const [rows = []] = yield* ask("wordBlocks", [{ segment: segment.number, start, limit }]);
    const page = new BlockPage(rows, limit);
    const all = [...page.words(start)];
    const words = all.filter(([word]) => word !== page.end);
    if (page.end === undefined || words.length > 0) {
      return { words, next: page.end === undefined ? undefined : wordBytes(page.end) };
    }
  }
}

/** Adds to each slot a number that stands for the word and its hits there. */
function addWord(sums: Uint32Array, word: string, slots: Uint32Array, hits: Uint8Array): void {
  const hash = hashOfKey(word);
  for (let at = 0; at < slots.length; at += 1) {
    const slot = slots[at] as number;
    const mixed = Math.imul(hash ^ Math.imul((hits[at] as number) + 1, 0x9e3779b1), 0x85ebca6b);
    sums[slot] = (sums[slot] as number) + (mixed ^ (mixed >>> 15));
  }
}
