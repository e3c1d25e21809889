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
  /** The key of the message with the summary (`keyOf`), by which it is known after it was forgotten. */
  readonly key: string;
}

/** A shortened tool output. */
export interface KeptOutput {
  readonly toolUseId: string;
  readonly keptBytes: number;
}

/** What a host's history is with a cut. */
export interface Recognised {
  readonly cut: Cut;
  /** The compaction that the host took over: it offers what was sent then, and what came after. */
  readonly adopted?: Cut;
}

/**
 * The newest of the cuts, which are in order, that was made of a history that begins as this one.
 *
 * A host that took over one cut may not have taken over the next. Its history then begins with the head
 * of the first, and the messages after it lead to the second.
 */
export function recognise(cuts: readonly Cut[], markOf: MarkOf): Recognised | undefined {
  const own = cuts.findLast(({ length, mark }) => markOf({ length }) === mark);
  if (own) return { cut: own };
  const adopted = cuts.findLast(
    ({ head, headMark }) =>
      head.some(isSummarySlot) && markOf({ length: head.length }) === headMark,
  );
  if (!adopted) return undefined;
  const after = { from: adopted.head.length, start: adopted.mark };
  const cut = cuts.findLast(
    ({ length, mark, head }) =>
      length >= adopted.length &&
      markOf({ ...after, length: length - adopted.length }) === mark &&
      head.every((slot) => isSummarySlot(slot) || offeredAt(slot, adopted) >= 0),
  );
  return { cut: cut ?? adopted, adopted };
}

/**
 * The key of messages of a history, chained to `start`, the key of those before. `undefined` when the
 * history has fewer.
 */
export type MarkOf = (part: {
  readonly from?: number;
  readonly length: number;
  readonly start?: string;
}) => string | undefined;

/** Where the message of a slot is in a history that begins with the head of `adopted`; -1: nowhere. */
export function offeredAt(slot: Slot, adopted: Cut | undefined): number {
  if (!adopted) return slot.at;
  const { head, length } = adopted;
  if (!isSummarySlot(slot) && slot.at >= length) return head.length + slot.at - length;
  return head.findIndex((one) =>
    isSummarySlot(slot) || isSummarySlot(one)
      ? isSummarySlot(slot) && isSummarySlot(one) && one.summary === slot.summary
      : one.at === slot.at,
  );
}

export function isSummarySlot(slot: Slot): slot is SummarySlot {
  return "summary" in slot;
}
