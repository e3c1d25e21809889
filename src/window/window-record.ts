import type { ProviderItem } from "../core/compactor.ts";
import type { Origin } from "../core/event.ts";
import { given } from "../core/fields.ts";
import type { HostRecalled, HostRecord, ReadHostItem } from "../core/host-record.ts";
import { jsonText } from "../core/json-values.ts";
import { FORGOTTEN, type Message, summaryMessage } from "../core/message.ts";
import type { KeptOutput } from "../core/tokens.ts";

/** A message of a compacted history, with the key of the history up to it, and its own. */
export interface RecordedMessage {
  readonly kind: "message";
  readonly mark: string;
  readonly key: string;
  readonly message: Message;
  /** The name of who wrote it, if the host has it. */
  readonly speaker?: string;
}

interface RecordedCut {
  readonly kind: "cut";
  readonly cut: Cut;
}

/** The facts that a record has about a chat. */
export interface Known {
  /** All compactions, oldest first. One whose summary was forgotten does not count. */
  readonly cuts: readonly Cut[];
  /** Messages and summaries after their forgotten texts were removed, by their keys. */
  readonly forgotten: ReadonlyMap<string, Message>;
  /**
   * False: a text in the chat was forgotten, or a record of memory refused. An item of a provider may still have it, and
   * cannot be searched for it.
   */
  readonly mayHaveItems: boolean;
}

/** Reads the messages in a window's items: those of the histories that it compacted. */
export const readWindowItem: ReadHostItem = (item) => {
  const recorded = item as RecordedMessage | RecordedCut;
  if (recorded.kind !== "message") return undefined;
  const { message, speaker } = recorded;
  const origin: Origin = { author: "program", ...given({ speaker }) };
  return { message, ...(message.role === "user" ? { origin } : {}) };
};

/** A compaction for the record. */
export interface AddedCut {
  readonly cut: Cut;
  /** The compaction before it, of the same history. */
  readonly last: Cut | undefined;
  /** Messages that it is the first to have, whole. */
  readonly messages: readonly RecordedMessage[];
}

/** The compactions of a chat in a session's log, so that they outlive the process. */
export class WindowRecord {
  readonly #record: HostRecord;
  #items: readonly unknown[] = [];
  #mayHaveItems = true;
  /** Events of records in which nothing was forgotten. */
  readonly #whole = new WeakSet<object>();
  /** The records of memory that came back since the last compaction, as of the last read. */
  recalled: readonly HostRecalled[] = [];
  /** Ids of records that a person refused. */
  refused: ReadonlySet<string> = new Set();

  constructor(record: HostRecord) {
    this.#record = record;
  }

  /** `undefined` when no compaction and no text has changed since the last read. */
  async changed(): Promise<Known | undefined> {
    const { items, recalled, refused } = await this.#record.read();
    this.refused = refused;
    const lastCut = items.findLastIndex((item) => (item as RecordedCut).kind === "cut");
    this.recalled = recalled.filter(({ itemCount }) => itemCount > lastCut);
    const known = this.#items;
    if (items === known) return undefined;
    const isSame =
      items.length === known.length && items.every((item, index) => item === known[index]);
    this.#items = items;
    const mayHaveItems =
      refused.size === 0 && !recalled.some(({ whole }) => this.#isChanged(whole));
    if (isSame && mayHaveItems === this.#mayHaveItems) return undefined;
    this.#mayHaveItems = mayHaveItems;
    const forgotten = new Map(forgottenIn(items));
    const cuts = cutsIn(items);
    if (mayHaveItems && forgotten.size === 0) return { cuts, forgotten, mayHaveItems };
    return { cuts: cuts.map(withoutItems), forgotten, mayHaveItems: false };
  }

  /** Whether a text in records of memory was forgotten. Most events are looked at once. */
  #isChanged(event: HostRecalled["whole"]): boolean {
    if (this.#whole.has(event)) return false;
    if (hasForgotten(event)) return true;
    this.#whole.add(event);
    return false;
  }

  /**
   * Stores a compaction that follows on `last`, and the messages that it is the first to have, in one transaction.
   * False: of the same messages, another process has stored one meanwhile.
   */
  async add({ cut, last, messages }: AddedCut): Promise<boolean> {
    let isFirst = true;
    await this.#record.change(({ items }) => {
      const newest = cutsIn(items).findLast(({ mark }) => mark === cut.mark);
      isFirst = !newest || [cut, last].some((one) => one?.headMark === newest.headMark);
      if (!isFirst) return undefined;
      const recorded = new Set(items.map((item) => (item as RecordedMessage).mark));
      const fresh = messages.filter(({ mark }) => !recorded.has(mark));
      return { items: [...fresh, { kind: "cut", cut } satisfies RecordedCut] };
    });
    return isFirst;
  }
}

/** The compactions in the record. One whose summary was forgotten does not count. */
function cutsIn(items: readonly unknown[]): readonly Cut[] {
  return items.flatMap((item) => {
    const { kind, cut } = item as RecordedCut;
    return kind === "cut" && !hasForgotten(cut) ? [cut] : [];
  });
}

function withoutItems(cut: Cut): Cut {
  return { ...cut, head: cut.head.map(({ item: _, ...slot }: Slot & { item?: unknown }) => slot) };
}

function forgottenIn(items: readonly unknown[]) {
  return items.flatMap((item): (readonly [string, Message])[] => {
    const recorded = item as RecordedMessage | RecordedCut;
    if (!hasForgotten(item)) return [];
    if (recorded.kind === "message") return [[recorded.key, recorded.message]];
    return recorded.cut.head
      .filter(isSummarySlot)
      .filter(hasForgotten)
      .map(({ key, summary }) => [key, summaryMessage(summary)]);
  });
}

function hasForgotten(value: unknown): boolean {
  return jsonText(value).includes(FORGOTTEN);
}

/**
 * A compaction of a host's history: which of its first messages stay, and what stands for the others.
 *
 *     history   m0  m1  m2  m3  m4  m5  m6 …      length 5
 *     sent      m0  summary     m3' m4  m5  m6 …   m3' has shortened tool output
 *               └───── head ──────┘
 *
 * Positions are those of the whole history, also when the host has taken over the messages that were sent before.
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
  /** It stands beside the summary, for its reader only. */
  readonly item?: ProviderItem;
}

/** A host's history seen through a cut. */
interface Recognised {
  readonly cut: Cut;
  /** The compaction that the host took over: it offers the messages that were sent then, and the later ones. */
  readonly adopted?: Cut;
}

/**
 * The cut of the longest history that this one begins with; of several, the newest. The cuts are in order. A shorter one may be
 * newer: after a change of the provider the host offers another history.
 *
 * A host that took over one cut may not have taken over the next. Its history then begins with the head
 * of the first, and the messages after it lead to the second.
 */
export function recognise(cuts: readonly Cut[], markOf: MarkOf): Recognised | undefined {
  const own = longest(cuts.filter(({ length, mark }) => markOf({ length }) === mark));
  if (own) return { cut: own };
  const adopted = cuts.findLast(
    ({ head, headMark }) =>
      head.some(isSummarySlot) && markOf({ length: head.length }) === headMark,
  );
  if (!adopted) return undefined;
  const after = { from: adopted.head.length, start: adopted.mark };
  const cut = longest(
    cuts.filter(
      ({ length, mark, head }) =>
        length >= adopted.length &&
        markOf({ ...after, length: length - adopted.length }) === mark &&
        head.every((slot) => isSummarySlot(slot) || offeredAt(slot, adopted) >= 0),
    ),
  );
  return { cut: cut ?? adopted, adopted };
}

function longest(cuts: readonly Cut[]): Cut | undefined {
  return cuts.findLast(({ length }) => cuts.every((other) => other.length <= length));
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

/** The position of a slot's message in a history that begins with the head of `adopted`; -1: none. */
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
