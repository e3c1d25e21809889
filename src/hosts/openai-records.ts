import type { HostItems, HostRecord } from "../core/host-record.ts";
import { looksRecalled, recalledText } from "../core/recalled.ts";
import { userText } from "./openai-items.ts";

/** Texts that are known again when the SDK gives them to the session. */
const TEXTS_MAX = 256;

/**
 * The items with records of memory that a filter has added. The SDK gives copies of them to the session as input of
 * the user. The session leaves them out:
 *
 *     filter   U A [records] U  ─► the model
 *     SDK      [records] U A    ─► addItems: U A
 *
 * Another process may have added them, before a run was interrupted and resumed here. The chat's log has those.
 */
export class SentRecords {
  readonly #texts = new Set<string>();
  readonly #record: Pick<HostRecord, "read">;

  constructor(record: Pick<HostRecord, "read">) {
    this.#record = record;
  }

  sent(items: readonly object[]): void {
    for (const item of items) this.#texts.add(userText(item));
    for (const oldest of this.#texts) {
      if (this.#texts.size <= TEXTS_MAX) return;
      this.#texts.delete(oldest);
    }
  }

  /** Without those that were sent. What a person typed stays, whatever it looks like. */
  async without<Item>(items: readonly Item[]): Promise<readonly Item[]> {
    const others = items.filter((item) => !this.#texts.has(recordsIn(item)));
    if (!others.some((item) => recordsIn(item) !== "")) return others;
    const { recalled } = await this.#record.read();
    const texts = recalled.flatMap(({ event, whole }) => [event.records, whole.records]);
    const sent = new Set(texts.map(recalledText));
    return others.filter((item) => recordsIn(item) === "" || !sent.has(recordsIn(item)));
  }
}

/** The text of an item that looks like records; empty for others. */
function recordsIn(item: unknown): string {
  if (typeof item !== "object" || item === null) return "";
  const text = userText(item);
  return looksRecalled(text) ? text : "";
}

/**
 * The record of a window whose session keeps its items itself: of what the window changes, it takes the records of
 * memory. A process sends those that it has looked up since its last compaction. The next process looks again.
 */
export function recordOfRecalled(record: HostRecord): HostRecord {
  /** The last event that does not count any more. */
  let since: number | undefined;
  const read = async (): Promise<HostItems> => {
    const now = await record.read();
    since ??= lastOf(now);
    const from = since;
    const recalled = now.recalled.filter(({ seq }) => seq > from);
    const { changedAtMs, refused } = now;
    return { items: NO_ITEMS, changedAtMs, recalled, refused, done: () => "no" };
  };
  return {
    read,
    async change(decide) {
      const { recalled } = decide(await read()) ?? {};
      // Without records it is a compaction, which takes away what was recalled.
      if (recalled) await record.change(() => ({ items: [], recalled }));
      else since = lastOf(await record.read());
    },
  };
}

const NO_ITEMS: readonly unknown[] = [];

function lastOf({ recalled }: HostItems): number {
  return recalled.at(-1)?.seq ?? 0;
}
