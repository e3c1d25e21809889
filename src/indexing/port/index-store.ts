/**
 * The database of one namespace's index: it keeps rows, finds them by their keys, and
 * saves changes together. It knows neither words nor vectors.
 *
 * Each operation is one round trip, and takes several keys at once. SQLite answers
 * in its thread, another database over a network (`asking.ts`).
 *
 * Contract:
 * - Rows come back as they were put; of several with the same key, the last one.
 * - `save` keeps all of its changes or none.
 * - Entries come in the order that `entries` names; word blocks by their first word in UTF-8, then by slot.
 */
export interface IndexStore {
  /** `undefined` until the first `save`. */
  head(): Head | undefined;
  /** The head, and the news for a reader that knows `known`; `undefined` until the first `save`. */
  catchUp(known: Known): News | undefined;
  /** All segments, oldest first. */
  segments(): readonly Segment[];
  /** The blobs of segments of level 0. */
  smallSegments(numbers: readonly number[]): readonly SmallSegment[];
  /** For each element of `wanted`, the blocks that may have its words, in order. */
  wordBlocks(wanted: readonly WantedBlocks[]): readonly (readonly WordBlockRow[])[];
  columnBlocks(generation: number, blocks: readonly number[]): readonly ColumnBlockRow[];
  /** Up to `limit` blocks of a generation. */
  columnBlockPage(generation: number, limit: number): readonly number[];
  entries(which: WantedEntries): readonly EntryRow[];
  /** Where the entries with these keys are. */
  entrySlots(keys: readonly number[]): readonly Pick<EntryRow, "key" | "slot" | "passages">[];
  /** The ids, of these, that an entry has. */
  storedIds(ids: readonly string[]): readonly string[];
  sessions(
    which: { readonly ids: readonly string[] } | { readonly numbers: readonly number[] } | "all",
  ): readonly SessionRow[];
  labels(texts: readonly string[]): readonly LabelRow[];
  /** The largest numbers of a session and of a label, and whether there are free runs: new rows need them. */
  lastNumbers(): LastNumbers;
  /** For each size, up to `limit` free runs of that size or up to twice as much, smallest first. */
  freeRuns(sizes: readonly number[], limit: number): readonly FreeRun[];
  /** Counts again by reading everything that is stored. */
  recount(): Counts;
  stats(sessionId: string | null): IndexStats;
  spaces(): readonly VectorSpace[];
  /** The slots that have a vector, with its space. */
  vectorSlots(
    slots: readonly number[],
  ): readonly { readonly space: number; readonly slot: number }[];
  /** Up to `limit` vectors of a space behind the slot `after`, in the order of slots, without their rows. */
  vectorPage(
    space: number,
    after: number,
    limit: number,
  ): readonly { readonly slot: number; readonly isBlank: boolean }[];
  vectorRows(space: number, slots: readonly number[]): readonly VectorRow[];
  codeBlocks(
    space: number,
    which: { readonly blocks: readonly number[] } | { readonly changedAfter: number },
  ): readonly CodeBlockRow[];
  /** Entries with keys from `oldest` up to `before`, exclusive, that lack a vector of a passage, newest first. */
  entriesLacking(
    space: number,
    which: { readonly oldest: number; readonly before: number; readonly limit: number },
  ): readonly LackingEntry[];
  save(changes: Changes): void;
}

/** The row of a namespace. */
export interface Head {
  /** `INDEX_VERSION` of the program that built the index. */
  readonly version: number;
  /** Segments and columns of another generation are not searched. */
  readonly generation: number;
  /** Grows with every transaction that changes the index. */
  readonly changes: number;
  /** The last change that removed something. Postings that were read before it are no longer valid. */
  readonly removedAt: number;
  /** The last change of a column block. */
  readonly columnsAt: number;
  /** Entries stored so far, including those deleted since: the key of the next one. */
  readonly stored: number;
  readonly slots: number;
  readonly passages: number;
  /** The last entry of the next generation while it is built; -1 before the first one. */
  readonly rebuilt: number | null;
  readonly rebuiltVersion: number | null;
}

/** The rows of each table. Their keys are in `KEYS`. */
export interface Tables {
  readonly sessions: SessionRow;
  readonly labels: LabelRow;
  readonly freeRuns: FreeRun;
  readonly entries: NewEntry;
  readonly segments: Segment & Partial<SmallSegment>;
  readonly wordBlocks: WordBlockRow;
  readonly columnBlocks: ColumnBlockRow;
  readonly spaces: VectorSpace;
  readonly vectors: VectorRow;
  readonly codeBlocks: CodeBlockRow;
}

export type TableName = keyof Tables;

export const KEYS = {
  sessions: ["number"],
  labels: ["number"],
  freeRuns: ["size", "first"],
  entries: ["key"],
  segments: ["number"],
  wordBlocks: ["segment", "first", "slot"],
  columnBlocks: ["generation", "block"],
  spaces: ["number"],
  vectors: ["space", "slot"],
  codeBlocks: ["space", "block"],
} as const satisfies { readonly [Name in TableName]: readonly (keyof Tables[Name])[] };

export type KeyOf<Name extends TableName> = Pick<
  Tables[Name],
  (typeof KEYS)[Name][number] & keyof Tables[Name]
>;

/** The changes of one `save`. Removals come first. */
export interface Changes {
  readonly head: Head;
  readonly remove: { readonly [Name in TableName]?: readonly KeyOf<Name>[] };
  readonly put: { readonly [Name in TableName]?: readonly Tables[Name][] };
}

export interface SessionRow {
  /** From 1. */
  readonly number: number;
  readonly id: string;
  readonly entries: number;
  readonly textBytes: number;
  /** Where its passages are (`runs.ts`). */
  readonly runs: readonly Run[];
}

export interface Run {
  readonly first: number;
  readonly size: number;
  /** Slots given to passages, including those of deleted entries. */
  readonly used: number;
}

/** A run of a session that is gone. */
export type FreeRun = Omit<Run, "used">;

/** The number of a role or a speaker in the columns. */
export interface LabelRow {
  /** From 1. */
  readonly number: number;
  readonly text: string;
  /** How many entries have it as role or speaker. */
  readonly uses: number;
}

export interface NewEntry {
  /** The order of storing, from 0. */
  readonly key: number;
  readonly id: string;
  readonly session: number;
  /** The slot of its first passage. */
  readonly slot: number;
  readonly passages: number;
  readonly turn: number | null;
  /** Position in `MEMORY_KINDS`. */
  readonly kind: number;
  /** A number is the milliseconds of a time that JavaScript writes as the same text. */
  readonly time: string | number | null;
  /** Numbers of labels; 0 for none. */
  readonly role: number;
  readonly speaker: number;
  readonly sourceFrom: number | null;
  readonly sourceTo: number | null;
  readonly content: string;
  /** `EntryMarks` as JSON. */
  readonly marks: string | null;
}

export interface EntryRow extends NewEntry {
  readonly sessionId: string;
  readonly roleText: string | null;
  readonly speakerText: string | null;
}

export type WantedEntries =
  /** In any order. */
  | { readonly slots: readonly number[] }
  /** In the order of the ids. */
  | { readonly ids: readonly string[] }
  /** In the order of storing, behind a key: all, or those with marks. */
  | { readonly after: number; readonly limit: number; readonly marked?: true }
  /** In the order of slots, from `first` to `last` inclusive, stored after `after`. */
  | {
      readonly first: number;
      readonly last: number;
      readonly after: number;
      readonly limit: number;
    };

/**
 * The words of some entries. A segment is written once; afterwards only deletions change it. Every
 * transaction that adds entries writes one, and several of about the same size are merged:
 *
 *     level 0   ▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪   the newest, each one blob of words and one of columns
 *     level 1   ▬▬▬                each a few blocks of words, found by their first word
 *     level 2   ▬▬▬▬▬▬▬▬▬▬▬
 *
 * The words of one passage are in one segment, so a word's postings are those of all segments together.
 */
export interface Segment {
  /** The change that made it. */
  readonly number: number;
  readonly generation: number;
  /** `growing` out of others and not searched yet, or `gone` into another. */
  readonly state: "whole" | "growing" | "gone";
  /** The segment that it is merged into. */
  readonly becomes: number | null;
  readonly level: number;
  /** Its entries are between these keys, and these changes added them. */
  readonly firstEntry: number;
  readonly lastEntry: number;
  readonly firstChange: number;
  readonly lastChange: number;
  readonly postings: number;
  readonly bytes: number;
  /** The last word of a growing one, in UTF-8. */
  readonly grown: Uint8Array | null;
}

/** The blobs of a segment of level 0. `put` leaves a blob as it is when it is `undefined`. */
export interface SmallSegment {
  readonly number: number;
  readonly words: Uint8Array | null;
  readonly columns: Uint8Array | null;
}

export interface WordBlockRow {
  readonly segment: number;
  /** Its first word, in UTF-8. */
  readonly first: Uint8Array;
  /** 0, or the first slot of a block that continues the word of the block before. */
  readonly slot: number;
  readonly data: Uint8Array;
}

export type WantedBlocks =
  /** The blocks that may have the words from `from` to `to`, both in UTF-8. */
  | { readonly segment: number; readonly from: Uint8Array; readonly to: Uint8Array }
  /** The blocks that may have the word in these slots. */
  | { readonly segment: number; readonly word: Uint8Array; readonly slots: Uint32Array }
  /** The first ones, beginning with the one that may have the word `start`. */
  | { readonly segment: number; readonly start: Uint8Array; readonly limit: number };

/** The columns of 512 slots (`columns.ts`). Two generations, one odd and one even, have their own. */
export interface ColumnBlockRow {
  readonly generation: number;
  readonly block: number;
  readonly changed: number;
  readonly data: Uint8Array;
}

/** The part of the index that a reader has from earlier. */
export interface Known {
  /** The head's `changes`, `removedAt` and `generation` at that time; -1 when nothing is known. */
  readonly changes: number;
  readonly removedAt: number;
  readonly generation: number;
  /** Segments up to `loadedLevel` that the reader has in memory; it wants all others up to there whole. */
  readonly loaded: readonly number[];
  readonly loadedLevel: number;
  readonly lastSession: number;
  readonly lastLabel: number;
  /** Words to look up in larger segments: in those that changed after `after`. */
  readonly words: readonly {
    readonly from: Uint8Array;
    readonly to: Uint8Array;
    readonly after: number;
  }[];
  /** A session whose number the reader wants. */
  readonly sessionId: string | undefined;
  /** An embedder whose codes the reader wants, and the change up to which it has them. */
  readonly vectors:
    | { readonly embedder: string; readonly space: number; readonly changes: number }
    | undefined;
}

export interface News {
  readonly head: Head;
  /** The segments of the current generation, oldest first; `undefined` when nothing has changed. */
  readonly segments: readonly Segment[] | undefined;
  /** The segments of level 0 that are not loaded. */
  readonly small: readonly SmallSegment[];
  /** The blocks of the other segments up to `loadedLevel` that are not loaded. */
  readonly blocks: readonly WordBlockRow[];
  readonly columns: readonly ColumnBlockRow[];
  /** The sessions with a larger number than `lastSession`. */
  readonly sessions: { readonly count: number; readonly last: number };
  readonly labels: readonly LabelRow[];
  /** For each word that was asked for; empty when there is nothing new of any. */
  readonly words: readonly (readonly WordBlockRow[])[];
  readonly session: number | undefined;
  readonly space: VectorSpace | undefined;
  readonly codes: readonly CodeBlockRow[];
}

export interface LastNumbers {
  /** 0 when there is none. */
  readonly session: number;
  /** 0 when there is none. */
  readonly label: number;
  readonly hasFreeRuns: boolean;
}

/** The counts as they should be. Sessions and labels are only those whose stored counts are wrong. */
export interface Counts {
  readonly entries: number;
  readonly passages: number;
  readonly sessions: readonly SessionRow[];
  readonly labels: readonly LabelRow[];
}

export interface IndexStats {
  readonly entries: number;
  readonly sessions: number;
  readonly textBytes: number;
  readonly segments: number;
  readonly postings: number;
  /** Bytes of words and columns. */
  readonly bytes: number;
  readonly passages: number;
}

/** The vectors of one embedder. Vectors of two spaces are never compared. */
export interface VectorSpace {
  /** Never given twice, not even to another namespace. 0 until it is saved. */
  readonly number: number;
  readonly embedder: string;
  readonly dimensions: number;
  /** Grows with every transaction that changes the space. */
  readonly changes: number;
  /** Passages that have a vector. */
  readonly passages: number;
  /** The meaning of cosines (`vectors/calibration.ts`). */
  readonly unrelated: number | null;
  readonly related: number | null;
}

export interface VectorRow {
  readonly space: number;
  readonly slot: number;
  /** `null` for a passage without words. */
  readonly row: Uint8Array | null;
}

export interface CodeBlockRow {
  readonly space: number;
  readonly block: number;
  readonly changed: number;
  readonly codes: Uint8Array;
}

export interface LackingEntry {
  readonly key: number;
  readonly slot: number;
  readonly passages: number;
  readonly content: string;
  /** The slots of the entry that have a vector. */
  readonly have: readonly number[];
}
