import type { HostRecord, ReadHostItem } from "../core/host-record.ts";
import { FORGOTTEN, type Message, summaryMessage } from "../core/message.ts";
import { type Cut, isSummarySlot } from "./cut.ts";

/** A message of a compacted history, with the key of the history up to it, and its own. */
export interface RecordedMessage {
  readonly kind: "message";
  readonly mark: string;
  readonly key: string;
  readonly message: Message;
}

interface RecordedCut {
  readonly kind: "cut";
  readonly cut: Cut;
}

/** What a record says of a chat. */
export interface Known {
  /** All compactions, oldest first. One whose summary was forgotten does not count. */
  readonly cuts: readonly Cut[];
  /** What is left of messages and summaries with a forgotten text, by their keys. */
  readonly forgotten: ReadonlyMap<string, Message>;
}

/** What a window's items say: the messages of the histories that it compacted. */
export const readWindowItem: ReadHostItem = (item) => {
  const { kind, message } = item as RecordedMessage | (RecordedCut & { message?: undefined });
  if (kind !== "message" || !message) return undefined;
  return { message, ...(message.role === "user" ? { origin: { author: "program" } } : {}) };
};

/** The compactions of a chat in a session's log, so that they outlive the process. */
export class WindowRecord {
  readonly #record: HostRecord;
  #items: readonly unknown[] = [];

  constructor(record: HostRecord) {
    this.#record = record;
  }

  /** `undefined` when it is what was read the last time. */
  async changed(): Promise<Known | undefined> {
    const { items } = await this.#record.read();
    const known = this.#items;
    if (items === known) return undefined;
    const isSame =
      items.length === known.length && items.every((item, index) => item === known[index]);
    this.#items = items;
    return isSame ? undefined : { cuts: cutsIn(items), forgotten: new Map(forgottenIn(items)) };
  }

  /**
   * Stores a compaction, and the messages that it is the first to have, in one transaction. False: of
   * the same messages, another process has stored one.
   */
  async add(cut: Cut, messages: readonly RecordedMessage[]): Promise<boolean> {
    let isFirst = true;
    await this.#record.change(({ items }) => {
      isFirst = !cutsIn(items).some(({ mark, headMark }) => {
        return mark === cut.mark && headMark !== cut.headMark;
      });
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
  return JSON.stringify(value).includes(FORGOTTEN);
}
