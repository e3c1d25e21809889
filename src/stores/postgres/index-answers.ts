import type {
  Counts,
  EntryRow,
  FreeRun,
  Head,
  IndexStats,
  Known,
  WantedBlocks,
  WantedEntries,
} from "../../indexing/port/index-store.ts";
import { askCatchUp } from "./catch-up.ts";
import { findWordBlocks } from "./find-word-blocks.ts";
import * as questions from "./index-questions.ts";
import { NAMESPACE } from "./index-questions.ts";
import { type QuestionBatch, QuestionsTogether } from "./question-batch.ts";
import type { LackingPage, WantedCodes } from "./vector-questions.ts";
import * as vectors from "./vector-questions.ts";

/** The questions to the index of a namespace. Those that are asked together are one statement, which a subclass sends. */
export abstract class IndexAnswers {
  readonly #questions: QuestionsTogether<Head | undefined>;

  constructor(namespace: string) {
    this.#questions = new QuestionsTogether(namespace, (batch) => this.begin(batch));
  }

  /** Puts the head first into a batch. The result sends the batch. */
  protected abstract begin(batch: QuestionBatch): () => Promise<Head | undefined>;

  #ask<Answer>(ask: (batch: QuestionBatch) => (head: Head | undefined) => Answer): Promise<Answer> {
    return this.#questions.ask(ask);
  }

  /** A question with one kind of rows. */
  #rows<Row>(ask: (batch: QuestionBatch) => readonly Row[]): Promise<readonly Row[]> {
    return this.#questions.ask((batch) => {
      const rows = ask(batch);
      return () => rows;
    });
  }

  head() {
    return this.#ask(() => (head) => head);
  }

  catchUp(known: Known) {
    return this.#ask((batch) => {
      const news = askCatchUp(batch, known);
      return (head) => head && news(head);
    });
  }

  segments() {
    return this.#rows((batch) =>
      batch.rows(
        questions.segments(
          `from rkat.memory_segment s where s.namespace = ${NAMESPACE} order by s.number`,
        ),
        questions.segmentOf,
      ),
    );
  }

  async smallSegments(numbers: readonly number[]) {
    if (numbers.length === 0) return [];
    return this.#rows((batch) =>
      batch.rows(
        questions.smallSegments(
          `from rkat.memory_segment s where s.namespace = ${NAMESPACE}
             and s.number = any (${batch.bind(numbers, "bigint[]")}) order by s.number`,
        ),
        questions.smallSegmentOf,
      ),
    );
  }

  async wordBlocks(wanted: readonly WantedBlocks[]) {
    if (wanted.length === 0) return [];
    return this.#ask((batch) => findWordBlocks(batch, wanted));
  }

  async columnBlocks(generation: number, blocks: readonly number[]) {
    if (blocks.length === 0) return [];
    return this.#rows((batch) =>
      batch.rows(
        questions.columnBlocks(
          `from rkat.memory_column_block c where c.namespace = ${NAMESPACE}
             and c.is_odd = ${generation % 2 === 1} and c.block = any (${batch.bind(blocks, "integer[]")})`,
        ),
        questions.columnBlockOf(generation),
      ),
    );
  }

  columnBlockPage(generation: number, limit: number) {
    return this.#rows((batch) =>
      batch.rows(
        {
          fields: "c.block",
          from: `from rkat.memory_column_block c where c.namespace = ${NAMESPACE}
            and c.is_odd = ${generation % 2 === 1} limit ${batch.bind(limit, "bigint")}`,
        },
        questions.firstNumber,
      ),
    );
  }

  async entries(which: WantedEntries): Promise<readonly EntryRow[]> {
    if ("slots" in which) {
      if (which.slots.length === 0) return [];
      return this.#entries((batch) => `e.slot = any (${batch.bind(which.slots, "bigint[]")})`);
    }
    if ("ids" in which) {
      if (which.ids.length === 0) return [];
      const ids = which.ids;
      const rows = await this.#entries((batch) => `e.id = any (${batch.bind(ids, "text[]")})`);
      const byId = new Map(rows.map((row) => [row.id, row]));
      return which.ids.flatMap((id) => byId.get(id.toWellFormed()) ?? []);
    }
    return this.#entries((batch) => {
      const after = `e.key > ${batch.bind(which.after, "bigint")}`;
      const limit = `limit ${batch.bind(which.limit, "bigint")}`;
      const marked = "marked" in which ? "e.marks is not null and " : "";
      if (!("first" in which)) return `${marked}${after} order by e.key ${limit}`;
      const slots = `e.slot between ${batch.bind(which.first, "bigint")} and ${batch.bind(which.last, "bigint")}`;
      return `${slots} and ${after} order by e.slot ${limit}`;
    });
  }

  #entries(condition: (batch: QuestionBatch) => string): Promise<readonly EntryRow[]> {
    return this.#rows((batch) =>
      batch.rows(questions.entries(condition(batch)), questions.entryOf),
    );
  }

  async entrySlots(keys: readonly number[]) {
    if (keys.length === 0) return [];
    return this.#rows((batch) =>
      batch.rows(
        {
          fields: "e.key, e.slot, e.passages",
          from: `from rkat.memory_entry e where e.namespace = ${NAMESPACE}
            and e.key = any (${batch.bind(keys, "bigint[]")})`,
        },
        ([key = 0, slot = 0, passages = 0]) => ({ key, slot, passages }),
      ),
    );
  }

  async storedIds(ids: readonly string[]) {
    if (ids.length === 0) return [];
    const found = await this.#rows((batch) =>
      batch.rows(
        {
          fields: "e.id",
          // With `any`, PostgreSQL would rather read all entries of a namespace than look up a hundred.
          from: `from unnest(${batch.bind(ids, "text[]")}) as w (id) cross join lateral (
              select e.id from rkat.memory_entry e
              where e.namespace = ${NAMESPACE} and e.id = w.id offset 0
            ) as e`,
        },
        questions.firstText,
      ),
    );
    const stored = new Set(found);
    return ids.filter((id) => stored.has(id.toWellFormed()));
  }

  async sessions(
    which: { readonly ids: readonly string[] } | { readonly numbers: readonly number[] } | "all",
  ) {
    if (which === "all") return this.#sessions(() => "true");
    if ("ids" in which) {
      const ids = which.ids;
      if (ids.length === 0) return [];
      return this.#sessions((batch) => `s.id = any (${batch.bind(ids, "text[]")})`);
    }
    const { numbers } = which;
    if (numbers.length === 0) return [];
    return this.#sessions((batch) => `s.number = any (${batch.bind(numbers, "integer[]")})`);
  }

  #sessions(condition: (batch: QuestionBatch) => string) {
    return this.#rows((batch) =>
      batch.rows(questions.sessions(condition(batch)), questions.sessionOf),
    );
  }

  async labels(texts: readonly string[]) {
    if (texts.length === 0) return [];
    return this.#rows((batch) => {
      const all = batch.bind(texts, "text[]");
      return batch.rows(questions.labels(`l.text = any (${all})`), questions.labelOf);
    });
  }

  async lastNumbers() {
    const rows = await this.#rows((batch) =>
      batch.rows(questions.LAST_NUMBERS, questions.lastNumbersOf),
    );
    return rows[0] ?? { session: 0, label: 0, hasFreeRuns: false };
  }

  async freeRuns(sizes: readonly number[], limit: number): Promise<readonly FreeRun[]> {
    const found = await this.#rows((batch) =>
      batch.rows(
        {
          fields: "r.size, r.first",
          from: `from unnest(${batch.bind(sizes, "bigint[]")}) as w (size) cross join lateral (
              select r.size, r.first from rkat.memory_free_run r where r.namespace = ${NAMESPACE}
                and r.size between w.size and 2 * w.size
              order by r.size, r.first limit ${batch.bind(limit, "bigint")}
            ) as r`,
        },
        ([size = 0, first = 0]) => ({ size, first }),
      ),
    );
    return [...new Map(found.map((run) => [`${run.size} ${run.first}`, run])).values()];
  }

  recount(): Promise<Counts> {
    return this.#ask((batch) => {
      const counts = batch.rows(questions.COUNTS, ([entries = 0, passages = 0]) => ({
        entries,
        passages,
      }));
      const sessions = batch.rows(questions.WRONG_SESSIONS, questions.sessionOf);
      const labels = batch.rows(questions.WRONG_LABELS, questions.labelOf);
      return () => ({ entries: 0, passages: 0, ...counts[0], sessions, labels });
    });
  }

  stats(sessionId: string | null): Promise<IndexStats> {
    return this.#ask((batch) => {
      const id = batch.bind(sessionId === null ? null : sessionId, "text");
      const rows = batch.rows(
        questions.stats(id),
        ([entries = 0, sessions = 0, textBytes = 0, segments = 0, postings = 0, bytes = 0]) => ({
          ...{ entries, sessions, textBytes, segments, postings, bytes },
        }),
      );
      return (head) => ({ ...NOTHING_STORED, ...rows[0], passages: head?.passages ?? 0 });
    });
  }

  spaces() {
    return this.#rows((batch) => vectors.spaces(batch));
  }

  async vectorSlots(slots: readonly number[]) {
    return slots.length === 0 ? [] : this.#rows((batch) => vectors.vectorSlots(batch, slots));
  }

  vectorPage(space: number, after: number, limit: number) {
    return this.#rows((batch) => vectors.vectorPage(batch, space, after, limit));
  }

  async vectorRows(space: number, slots: readonly number[]) {
    return slots.length === 0 ? [] : this.#rows((batch) => vectors.vectorRows(batch, space, slots));
  }

  codeBlocks(space: number, which: WantedCodes) {
    return this.#rows((batch) => vectors.codeBlocks(batch, space, which));
  }

  entriesLacking(space: number, page: LackingPage) {
    return this.#rows((batch) => vectors.entriesLacking(batch, space, page));
  }
}

const NOTHING_STORED = {
  entries: 0,
  sessions: 0,
  textBytes: 0,
  segments: 0,
  postings: 0,
  bytes: 0,
};
