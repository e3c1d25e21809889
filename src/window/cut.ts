/**
 * A compaction of a host's history: which of its first messages stay, and what stands for the others.
 *
 *     history   m0  m1  m2  m3  m4  m5  m6 …      length 5
 *     sent      m0  summary     m3' m4  m5  m6 …   m3' has shortened tool output
 *               └───── head ──────┘
 *
 * Positions are those of the whole history, also when the host has taken over what was sent before.
 * So a history is recognised in both forms, and no summary is made twice.
 */
export interface Cut {
  /** Messages of the history that the head stands for. */
  readonly length: number;
  /** The key of these messages (`chained`). */
  readonly mark: string;
  readonly head: readonly Slot[];
  /** The key of the head's messages. */
  readonly headMark: string;
}

/** One message that is sent: the host's own at a position, or a summary. */
export type Slot = { readonly at: number; readonly outputs?: readonly KeptOutput[] } | SummarySlot;

export interface SummarySlot {
  readonly at: -1;
  readonly summary: string;
}

/** A shortened tool output. */
export interface KeptOutput {
  readonly toolUseId: string;
  readonly keptBytes: number;
}

/** What a host's history is with a cut. */
export interface Recognised {
  readonly cut: Cut;
  /** Whether the host offers what was sent before, and not its own whole history. */
  readonly isAdopted: boolean;
}

/** The newest of the cuts, which are in order, that was made of a history that begins as this one. */
export function recognise(cuts: readonly Cut[], marks: Marks): Recognised | undefined {
  const own = cuts.findLast(({ length, mark }) => marks(length) === mark);
  if (own) return { cut: own, isAdopted: false };
  const adopted = cuts.findLast(
    ({ head, headMark }) => head.some(isSummarySlot) && marks(head.length) === headMark,
  );
  return adopted && { cut: adopted, isAdopted: true };
}

/** The key of the first messages of a history, `undefined` when it has fewer. */
export type Marks = (length: number) => string | undefined;

export function isSummarySlot(slot: Slot): slot is SummarySlot {
  return "summary" in slot;
}
