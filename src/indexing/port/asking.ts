import { SessionError } from "../../core/errors.ts";
import type {
  Changes,
  Head,
  IndexStore,
  KeyOf,
  Known,
  Segment,
  TableName,
  Tables,
} from "./index-store.ts";

/**
 * Code that asks a store questions, and goes on when it has the answers.
 *
 *     const head = yield* ask("head");
 *
 * The code itself is pure. `runSync` runs it on a store that answers at once, such as SQLite on
 * its thread; `runAsync` on a store behind a network. Every `yield` is one round trip.
 */
export type Asking<Result> = Generator<Request, Result, unknown>;

/** The request of one `yield`: several questions at once, a transaction, or a report of progress. */
type Request =
  | readonly Question[]
  | { readonly mode: TransactionMode; readonly work: () => Asking<unknown> }
  | { readonly progress: Progress };

export interface Question<Op extends keyof IndexStore = keyof IndexStore> {
  readonly op: Op;
  readonly args: Parameters<IndexStore[Op]>;
}

/**
 * - `read`: all answers come from one state of the store. It may be run again from its start.
 * - `search`: the same, but later answers may have rows that were added since the first one. Rows that the
 *   first one named are still there.
 * - `write`: other writers see all of it or nothing, and nothing comes between its answers and its `save`.
 *   It may be run again from its start.
 * - `write unsynced`: a power failure may undo it.
 */
export type TransactionMode = "read" | "search" | "write" | "write unsynced";

/** The progress of long work. */
export interface Progress {
  readonly done: number;
  readonly total: number;
}

type Answer<Op extends keyof IndexStore> = ReturnType<IndexStore[Op]>;

export function question<Op extends keyof IndexStore>(
  op: Op,
  ...args: Parameters<IndexStore[Op]>
): Question<Op> {
  return { op, args };
}

export function* ask<Op extends keyof IndexStore>(
  op: Op,
  ...args: Parameters<IndexStore[Op]>
): Asking<Answer<Op>> {
  const [answer] = (yield [{ op, args }]) as readonly unknown[];
  return answer as Answer<Op>;
}

/** Asks several questions in one round trip; none depends on the answer of another. */
export function* together<Ops extends readonly (keyof IndexStore)[]>(
  ...questions: { readonly [At in keyof Ops]: Question<Ops[At]> }
): Asking<{ [At in keyof Ops]: Answer<Ops[At]> }> {
  return (yield questions as readonly Question[]) as never;
}

export function* transaction<Result>(
  mode: TransactionMode,
  work: () => Asking<Result>,
): Asking<Result> {
  return (yield { mode, work }) as Result;
}

export function* report(progress: Progress): Asking<void> {
  yield { progress };
}

/** A store that answers at once. */
export interface SyncIndexStore extends IndexStore {
  transact<Result>(
    mode: TransactionMode,
    work: () => Generator<Progress, Result>,
  ): Generator<Progress, Result>;
}

/** The same store behind a network. A transaction asks the store that `transact` gives it. */
export type AsyncIndexStore = {
  readonly [Op in keyof IndexStore]: (
    ...args: Parameters<IndexStore[Op]>
  ) => Promise<ReturnType<IndexStore[Op]>>;
} & {
  transact<Result>(
    mode: TransactionMode,
    work: (within: AsyncIndexStore) => Promise<Result>,
  ): Promise<Result>;
};

export function runSync<Result>(asking: Asking<Result>, store: SyncIndexStore): Result {
  return finish(runInSteps(asking, store));
}

/** Runs all steps. */
export function finish<Result>(steps: Generator<Progress, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** The same, which pauses at each report of progress. */
export function* runInSteps<Result>(
  asking: Asking<Result>,
  store: SyncIndexStore,
): Generator<Progress, Result> {
  let answer: unknown;
  for (;;) {
    const { done, value } = asking.next(answer);
    if (done) return value;
    if ("progress" in value) yield value.progress;
    else if ("mode" in value) {
      const { mode, work } = value;
      answer = yield* store.transact(mode, () => runInSteps(work(), store));
    } else answer = value.map(({ op, args }) => (store[op] as Operation)(...args));
  }
}

export async function runAsync<Result>(
  asking: Asking<Result>,
  store: AsyncIndexStore,
  onProgress?: (progress: Progress) => void,
): Promise<Result> {
  let answer: unknown;
  for (;;) {
    const { done, value } = asking.next(answer);
    if (done) return value;
    if ("progress" in value) onProgress?.(value.progress);
    else if ("mode" in value) {
      const { mode, work } = value;
      answer = await store.transact(mode, (within) => runAsync(work(), within, onProgress));
    } else {
      answer = await Promise.all(value.map(({ op, args }) => (store[op] as Operation)(...args)));
    }
  }
}

type Operation = (...args: readonly unknown[]) => unknown;

/**
 * Raise it when `words/` or `passages/` make other words or passages of a text. An index of an earlier version is searched as it is while it is
 * made again, and what is added meanwhile has the words of this one.
 *
 * - 2: marks that are not seen are in no word
 */
export const INDEX_VERSION = 2;

/** The head of a namespace to search or to change; `undefined` when it has no memory yet. */
export function* openHead(): Asking<Head | undefined> {
  return checked(yield* ask("head"));
}

/** @throws SessionError `SESSION_STORE_ERROR` when a later rkat indexed it: it knows better words */
export function checked(head: Head | undefined): Head | undefined {
  if (!head || head.version <= INDEX_VERSION) return head;
  throw new SessionError("SESSION_STORE_ERROR", {
    detail: `The memory was indexed by another rkat (index ${head.version}; this one has ${INDEX_VERSION}).`,
    hint: "Use one version of rkat, and start it again.",
  });
}

export const NEW_HEAD: Head = {
  version: INDEX_VERSION,
  generation: 0,
  changes: 0,
  removedAt: 0,
  columnsAt: 0,
  stored: 0,
  slots: 0,
  passages: 0,
  rebuilt: null,
  rebuiltVersion: null,
};

/** Collects the changes of a transaction, and saves them together. */
export class Draft {
  readonly head: { -readonly [Name in keyof Head]: Head[Name] };
  readonly #remove: { [Name in TableName]?: KeyOf<Name>[] } = {};
  readonly #put: { [Name in TableName]?: Tables[Name][] } = {};

  constructor(head: Head) {
    this.head = { ...head };
  }

  put<Name extends TableName>(table: Name, ...rows: readonly Tables[Name][]): void {
    const all = this.#put[table] as Tables[Name][] | undefined;
    if (all) for (const row of rows) all.push(row);
    else Object.assign(this.#put, { [table]: rows });
  }

  remove<Name extends TableName>(table: Name, ...keys: readonly KeyOf<Name>[]): void {
    const all = this.#remove[table] as KeyOf<Name>[] | undefined;
    if (all) for (const key of keys) all.push(key);
    else Object.assign(this.#remove, { [table]: keys });
  }

  *save(): Asking<void> {
    const changes: Changes = { head: this.head, remove: this.#remove, put: this.#put };
    yield* ask("save", changes);
  }
}

/** Entries are kept apart from their index, so a damaged index can be rebuilt. */
export function damagedIndex(part: "words" | "columns" | "vectors"): SessionError {
  return new SessionError("SESSION_STORE_ERROR", {
    detail: `The index of memory is damaged: ${part} of it cannot be read.`,
    hint:
      part === "vectors"
        ? 'Choose another model under [embeddings], which makes new vectors. With provider = "local" a search uses words only.'
        : "`rkat memory reindex` rebuilds it from the entries.",
  });
}

/**
 * Up to which change a reader's knowledge still holds: of words, labels and sessions not beyond a
 * removal, of columns not beyond a new generation. -1 when it has to begin again.
 */
export function stillKnown(
  known: Pick<Known, "changes" | "removedAt" | "generation">,
  head: Head,
): { readonly words: number; readonly columns: number } {
  return {
    words: known.removedAt === head.removedAt ? known.changes : -1,
    columns: known.generation === head.generation ? known.changes : -1,
  };
}

/** The segments that a search reads. */
export function searchedOf(head: Head, segments: readonly Segment[]): readonly Segment[] {
  return segments.filter(
    ({ generation, state }) => generation === head.generation && state === "whole",
  );
}
