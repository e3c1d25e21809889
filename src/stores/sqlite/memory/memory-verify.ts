import { SessionError } from "../../../core/errors.ts";
import type { MemoryCheck } from "../../../core/memory-store.ts";
import { hashOfKey } from "../../../search/text-key.ts";
import type { Connection } from "../connection.ts";
import { COLUMNS, newColumns } from "./memory-column-format.ts";
import { recordsOf } from "./memory-column-records.ts";
import { wrongCounts } from "./memory-counts.ts";
import { LabelNumbers } from "./memory-labels.ts";
import { keysOf, type MemoryNamespace, openNamespace } from "./memory-namespace.ts";
import { MemoryPassageIndex } from "./memory-passage-index.ts";
import { PostingsCache } from "./memory-postings-cache.ts";
import { columnsOf, type MemoryRow, placedEntry, SELECT_MEMORY } from "./memory-row.ts";
import { segmentWords } from "./memory-segment-words.ts";
import { searchedSegments } from "./memory-segments.ts";
import { linksOf, runsOf } from "./memory-slots.ts";
import { vectorProblems } from "./memory-vector-check.ts";
import { wordsOf } from "./memory-words.ts";

/** How far a check has come. `check` is there when it is done. */
export interface Verified {
  readonly done: number;
  readonly total: number;
  readonly check?: MemoryCheck;
}

/** A check that goes on, on a connection that does nothing else meanwhile. */
const RUNNING = new WeakMap<Connection, Generator<Verified>>();

/** The next step of comparing the index with the entries. All steps see one state of the file. */
export function verifyMemories(db: Connection, name: string): Verified {
  const running = RUNNING.get(db) ?? verification(db, name);
  RUNNING.set(db, running);
  const next = running.next();
  if (next.done || next.value.check) {
    RUNNING.delete(db);
    // Ends the transaction.
    running.return(undefined);
  }
  return next.value ?? { done: 0, total: 0, check: { entries: 0, problems: [] } };
}

function* verification(db: Connection, name: string): Generator<Verified> {
  db.exec("BEGIN");
  try {
    const namespace = openNamespace(db, name);
    if (namespace) yield* new Verification(db, namespace).run();
    else yield { done: 0, total: 0, check: { entries: 0, problems: [] } };
  } finally {
    db.exec("COMMIT");
  }
}

const PROBLEMS_MAX = 100;
/** Entries, and words, that one step looks at. */
const STEP = 500;
const STEP_WORDS = 20_000;

/**
 * Compares by sums: of each slot, over its words, once as its entry says and once as the index
 * has them. Only where they differ is looked at more closely.
 */
class Verification {
  readonly #db: Connection;
  readonly #namespace: MemoryNamespace;
  readonly #index: MemoryPassageIndex;
  readonly #expected: Uint32Array;
  readonly #found: Uint32Array;
  /** The first slot of each slot's entry, and 1, so that 0 is none. */
  readonly #taken: Uint32Array;
  readonly #problems: string[] = [];
  readonly #labels: LabelNumbers;
  #passages = 0;

  constructor(db: Connection, namespace: MemoryNamespace) {
    this.#db = db;
    this.#namespace = namespace;
    this.#labels = new LabelNumbers(db, namespace.number);
    this.#index = new MemoryPassageIndex(db, namespace, new PostingsCache(1_000_000));
    this.#expected = new Uint32Array(namespace.slots);
    this.#found = new Uint32Array(namespace.slots);
    this.#taken = new Uint32Array(namespace.slots);
  }

  *run(): Generator<Verified> {
    const total = this.#count("SELECT count(*) AS count FROM memory_entry WHERE namespace = ?");
    yield { done: 0, total };
    try {
      yield* this.#compare(total);
    } catch (error) {
      if (!SessionError.is(error)) throw error;
      this.#report(error.message);
    }
    for (const problem of vectorProblems(this.#db, this.#namespace.number)) this.#report(problem);
    yield { done: total, total, check: { entries: total, problems: this.#problems } };
  }

  /** @throws SessionError when the index cannot be read to its end. */
  *#compare(total: number): Generator<Verified> {
    for (let after = keysOf(this.#namespace).first - 1, checked = 0; ; ) {
      const rows = this.#db.all<MemoryRow>(
        `${SELECT_MEMORY} WHERE key > ? AND key <= ? ORDER BY key LIMIT ?`,
        after,
        keysOf(this.#namespace).last,
        STEP,
      );
      for (const row of rows) this.#checkEntry(row);
      const last = rows.at(-1);
      if (!last) break;
      after = last.key;
      checked += rows.length;
      // The second half of the work is to read the index.
      yield { done: Math.floor(checked / 2), total };
    }
    const postings = searchedSegments(this.#db, this.#namespace).reduce(
      (sum, segment) => sum + segment.postings,
      0,
    );
    let read = 0;
    for (const before of this.#readIndex()) {
      read = before;
      yield { done: Math.floor(total / 2 + (total / 2) * Math.min(1, read / postings)), total };
    }
    this.#checkRest();
  }

  #checkEntry(row: MemoryRow): void {
    const entry = placedEntry(row);
    this.#passages += row.passages;
    for (let slot = row.slot; slot < row.slot + row.passages; slot += 1) {
      if (slot >= this.#namespace.slots) this.#report(`Entry ${row.id} is beyond all slots.`);
      else if (this.#taken[slot] !== 0)
        this.#report(`Slot ${slot} belongs to two entries, one is ${row.id}.`);
      else this.#taken[slot] = row.slot + 1;
    }
    for (const [word, { slots, hits }] of wordsOf([entry])) {
      addWord(this.#expected, word, slots, hits);
    }
    const wanted = recordsOf([{ ...entry, columns: columnsOf(row, this.#labels) }], []);
    for (const [at, slot] of wanted.slots.entries()) {
      const columns = { ...this.#index.columns, ...this.#index.details(slot) };
      const wrong = COLUMNS.filter(
        (name) => !Object.is(wanted.columns[name][at], columns[name][slot]),
      );
      if (wrong.length > 0)
        this.#report(`The index has another ${wrong.join(", ")} of entry ${row.id}.`);
    }
  }

  /** Gives the number of postings that it has read, now and then. */
  *#readIndex(): Generator<number> {
    let read = 0;
    let words = 0;
    for (const segment of searchedSegments(this.#db, this.#namespace)) {
      let before = "";
      let count = 0;
      for (const [word, { slots, hits }] of segmentWords(this.#db, segment)) {
        if (before !== "" && !(Buffer.compare(Buffer.from(before), Buffer.from(word)) < 0)) {
          this.#report(`Words of segment ${segment.number} are not in order.`);
        }
        before = word;
        count += slots.length;
        this.#checkSlots(word, slots);
        addWord(this.#found, word, slots, hits);
        read += slots.length;
        words += 1;
        if (words % STEP_WORDS === 0) yield read;
      }
      if (count !== segment.postings) {
        this.#report(
          `Segment ${segment.number} should have ${segment.postings} places of words, and has ${count}.`,
        );
      }
    }
    yield read;
  }

  #checkSlots(word: string, slots: Uint32Array): void {
    let before = -1;
    for (const slot of slots) {
      if (slot <= before)
        this.#report(`The places of a word of ${word.length} characters are not in order.`);
      if (slot >= this.#namespace.slots) this.#report(`The index has a word beyond all slots.`);
      before = slot;
    }
  }

  #checkRest(): void {
    const { columns } = this.#index;
    const wrong = new Set<number>();
    for (let slot = 0; slot < this.#namespace.slots; slot += 1) {
      const entry = (this.#taken[slot] ?? 0) - 1;
      if (this.#expected[slot] !== this.#found[slot]) wrong.add(entry);
      if (entry < 0 && columns.session[slot] !== 0) {
        this.#report(`The index has a passage in slot ${slot}, where there is no entry.`);
      }
    }
    for (const slot of wrong) {
      if (slot < 0) this.#report("The index has words of an entry that is no more.");
      else this.#describe(slot);
    }
    this.#checkLinks();
    this.#checkCounts();
  }

  /** What the index says of an entry that is not what its text says. */
  #describe(slot: number): void {
    const row = this.#db.get<MemoryRow>(
      `${SELECT_MEMORY} WHERE entry.namespace = ? AND slot = ?`,
      this.#namespace.number,
      slot,
    );
    if (!row) return;
    const missing = wordsOf([placedEntry(row)]).filter(([word, { slots }]) => {
      const found = new Set(this.#index.postings(word).slots);
      return slots.some((at) => !found.has(at));
    });
    this.#report(
      missing.length > 0
        ? `The index lacks ${missing.length} words of entry ${row.id}.`
        : `The index has other words than entry ${row.id}.`,
    );
  }

  #checkLinks(): void {
    const { session, entry } = this.#index.columns;
    const expected = newColumns(this.#namespace.slots).entry;
    const numbers = this.#db.all<{ number: number }>(
      "SELECT number FROM memory_session WHERE namespace = ?",
      this.#namespace.number,
    );
    for (const { number } of numbers) {
      for (const { slot, to } of linksOf(runsOf(this.#db, this.#namespace.number, number))) {
        expected[slot] = to;
      }
    }
    for (let slot = 0; slot < expected.length; slot += 1) {
      if (session[slot] !== 0 || entry[slot] === expected[slot]) continue;
      this.#report(`Slot ${slot} leads to ${entry[slot]}, and should lead to ${expected[slot]}.`);
    }
  }

  #checkCounts(): void {
    if (this.#passages !== this.#namespace.passages) {
      this.#report(
        `The memory should have ${this.#namespace.passages} passages, and has ${this.#passages}.`,
      );
    }
    const { sessions, labels } = wrongCounts(this.#db, this.#namespace.number);
    for (const { id } of sessions) this.#report(`The counts of session ${id} are wrong.`);
    for (const { text } of labels) this.#report(`The uses of the label ${text} are wrong.`);
  }

  #count(sql: string): number {
    return this.#db.get<{ count: number }>(sql, this.#namespace.number)?.count ?? 0;
  }

  #report(problem: string): void {
    if (this.#problems.length < PROBLEMS_MAX && !this.#problems.includes(problem)) {
      this.#problems.push(problem);
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
