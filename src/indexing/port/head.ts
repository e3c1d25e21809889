import { SessionError } from "../../core/errors.ts";
import type { Asking } from "./asking.ts";
import { ask } from "./asking.ts";
import type { Changes, Head, KeyOf, Known, Segment, TableName, Tables } from "./index-store.ts";

/**
 * Raise it when `words/` or `passages/` make other words or passages of a text. An index of another version is
 * rebuilt.
 */
export const INDEX_VERSION = 1;

/** The head of a namespace to search or to change; `undefined` when it has no memory yet. */
export function* openHead(): Asking<Head | undefined> {
  return checked(yield* ask("head"));
}

/** @throws SessionError `SESSION_STORE_ERROR` when another rkat indexed it while this one ran. */
export function checked(head: Head | undefined): Head | undefined {
  if (!head || head.version === INDEX_VERSION) return head;
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
