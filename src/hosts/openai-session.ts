import { isDeepStrictEqual } from "node:util";
import { SessionError } from "../core/errors.ts";
import type { HostChange, HostItems, HostRecord } from "../core/host-record.ts";
import { changedJson, withinNesting } from "../core/json-values.ts";
import type { RkatFilter } from "./openai-filter.ts";
import { givenItem, type OpenAIItem, storedItem } from "./openai-items.ts";

/** The changes that `applyHistoryTransaction` of the Agents SDK makes. */
export type HistoryTransaction<Item> =
  | { readonly type: "append_items"; readonly items: readonly Item[] }
  | {
      readonly type: "replace_suffix";
      readonly expectedSuffix: readonly Item[];
      readonly replacement: readonly Item[];
    };

/** The work of a session besides keeping its items. */
export interface OpenAISessionWork<Item> {
  /** The items to go on with, given those of now. The same items where there is nothing to do. */
  compact(items: readonly Item[], options: { readonly force: boolean }): Promise<readonly Item[]>;
  readonly filter: RkatFilter;
  /** The items without those that the filter added to a request. */
  withoutRecords(items: readonly unknown[]): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

/**
 * A `Session` of the OpenAI Agents SDK in rkat's stores.
 *
 * Items come back as they were given. Memory keeps the texts of items that `popItem`,
 * `clearSession` or a compaction removes from the list.
 */
export class RkatSession<Item extends OpenAIItem> {
  /** A `callModelInputFilter` for runs with this session. What it compacts in a run, the session takes over after it. */
  readonly filter: RkatFilter;
  readonly #id: string;
  readonly #record: HostRecord;
  readonly #work: OpenAISessionWork<Item>;

  /** @internal The function of the door makes one. */
  constructor(id: string, record: HostRecord, work: OpenAISessionWork<Item>) {
    this.#id = id;
    this.#record = record;
    this.#work = work;
    this.filter = work.filter;
  }

  async getSessionId(): Promise<string> {
    return this.#id;
  }

  /** All items, or the last `limit` of them, in their order. */
  async getItems(limit?: number): Promise<Item[]> {
    const { items } = await this.#record.read();
    const from = limit === undefined ? 0 : Math.max(0, items.length - Math.max(0, limit));
    return items.slice(from).map((item) => given(item) as Item);
  }

  async addItems(items: readonly Item[]): Promise<void> {
    const added = await this.#stored(items, "addItems");
    await this.#record.change(() => (added.length === 0 ? undefined : { items: added }));
  }

  async popItem(): Promise<Item | undefined> {
    let popped: unknown;
    await this.#record.change(({ items }) => {
      popped = items.at(-1);
      return popped === undefined ? undefined : suffix(items, 1, []);
    });
    return popped === undefined ? undefined : (given(popped) as Item);
  }

  /** Empties the list. What was said stays in the session's log and in memory. */
  async clearSession(): Promise<void> {
    await this.#record.change(({ items }) => ({
      ...suffix(items, items.length, []),
      restarts: true,
    }));
  }

  async replaceHistoryWithCompaction(items: readonly Item[]): Promise<void> {
    const replacement = await this.#stored(items, "replaceHistoryWithCompaction");
    await this.#record.change(({ items: before }) =>
      suffix(before, before.length, withSummariesOf(before, replacement)),
    );
  }

  /** Does the transaction once, however often it is tried again under its `operationId`. */
  async applyHistoryTransaction(request: {
    readonly operationId: string;
    readonly transaction: HistoryTransaction<Item>;
  }): Promise<void> {
    const { operationId: id, transaction } = request;
    if (typeof id !== "string" || id.trim() === "") {
      throw invalid("applyHistoryTransaction needs an `operationId` that is a text.");
    }
    const change = await transactionAsJson(transaction, (given) =>
      this.#work.withoutRecords(given),
    );
    await this.#record.change((now) => {
      const done = now.done({ id, change });
      if (done === "same") return undefined;
      if (done === "other") {
        throw new SessionError("SESSION_CONFLICT", {
          message: `The operation "${id}" was done already, with another transaction.`,
          hint: "Repeat a transaction unchanged, or give the new one another `operationId`.",
        });
      }
      return { ...changeOf(change, now), operation: { id, change } };
    });
  }

  /**
   * Compacts the list if it is due, or with `force`. Runs of the Agents SDK call this when a turn is in the session.
   *
   * The result is null: the run does not count the tokens of the summary.
   */
  async runCompaction({ force = false }: { readonly force?: boolean } = {}): Promise<null> {
    const before = await this.getItems();
    const after = await this.#work.compact(before, { force });
    const { from, count, items } = difference(before, after);
    if (count === 0 && items.length === 0) return null;
    const gone = asStored(before.slice(from, from + count), "runCompaction");
    await this.#record.change(({ items: now }) => {
      // Another process changed the list while the summary was written. It compacts the next time.
      if (!isDeepStrictEqual(now.slice(from, from + count), gone)) return undefined;
      return { replaced: { from, count }, items: asStored(items, "runCompaction") };
    });
    return null;
  }

  async #stored(items: unknown, where: string): Promise<readonly unknown[]> {
    return await this.#work.withoutRecords(asStored(items, where));
  }

  /** Brings memory up to date. Call it before you close the stores. */
  close(): Promise<void> {
    return this.#work.close();
  }
}

function changeOf(transaction: HistoryTransaction<unknown>, { items }: HostItems): HostChange {
  if (transaction.type === "append_items") return { items: transaction.items };
  const { expectedSuffix: expected, replacement } = transaction;
  const from = items.length - expected.length;
  const replaced = items.slice(Math.max(0, from));
  if (from < 0 || !isDeepStrictEqual(replaced.map(givenItem), expected)) {
    throw new SessionError("SESSION_CONFLICT", {
      message: "The session's last items are not those that `expectedSuffix` names.",
      hint: "Read the items again with `getItems()`.",
    });
  }
  return suffix(items, expected.length, withSummariesOf(replaced, replacement));
}

/** Items that take the place of others. A copy of a summary among those is a summary again. */
function withSummariesOf(
  replaced: readonly unknown[],
  items: readonly unknown[],
): readonly unknown[] {
  const summaries = replaced.filter((item) => givenItem(item) !== item);
  return items.map((item) => {
    const at = summaries.findIndex((summary) => isDeepStrictEqual(givenItem(summary), item));
    return at < 0 ? item : summaries.splice(at, 1)[0];
  });
}

async function transactionAsJson(
  transaction: HistoryTransaction<unknown>,
  kept: (items: readonly unknown[]) => Promise<readonly unknown[]>,
): Promise<HistoryTransaction<unknown>> {
  switch (transaction?.type) {
    case "append_items": {
      const { type, items } = transaction;
      return { type, items: await kept(asJson(items, type)) };
    }
    case "replace_suffix": {
      const { type, expectedSuffix, replacement } = transaction;
      return {
        type,
        expectedSuffix: await kept(asJson(expectedSuffix, type)),
        replacement: await kept(asJson(replacement, type)),
      };
    }
    default:
      throw invalid("applyHistoryTransaction knows `append_items` and `replace_suffix` only.");
  }
}

/** The last `count` items replaced. */
function suffix(items: readonly unknown[], count: number, by: readonly unknown[]): HostChange {
  return { replaced: { from: items.length - count, count }, items: by };
}

/** The part between the equal beginning and the equal end. */
function difference<Item>(before: readonly Item[], after: readonly Item[]) {
  const isSame = (one: Item | undefined, other: Item | undefined) =>
    one === other || isDeepStrictEqual(one, other);
  const most = Math.min(before.length, after.length);
  let from = 0;
  while (from < most && isSame(before[from], after[from])) from += 1;
  let end = 0;
  while (end < most - from && isSame(before.at(-1 - end), after.at(-1 - end))) end += 1;
  return { from, count: before.length - end - from, items: after.slice(from, after.length - end) };
}

function asJson(items: unknown, where: string): readonly unknown[] {
  if (!Array.isArray(items)) throw invalid(`${where} needs a list of items.`);
  const wrong = items.findIndex((item) => typeof item !== "object" || item === null);
  if (wrong >= 0) throw invalid(`${where}: item ${wrong} is no object.`);
  try {
    return items.map(toJson);
  } catch (cause) {
    throw invalid(`${where}: an item cannot be stored as JSON.`, cause);
  }
}

/** Items as they are stored, with summaries marked as such. */
function asStored(items: unknown, where: string): readonly unknown[] {
  return asJson(Array.isArray(items) ? items.map(storedItem) : items, where);
}

function given(stored: unknown): unknown {
  return givenItem(fromJson(stored));
}

function invalid(message: string, cause?: unknown): SessionError {
  const hint = "Give items as the Agents SDK makes them (`AgentInputItem`).";
  return new SessionError("INVALID_PARAMS", { message, hint, ...(cause ? { cause } : {}) });
}

/** Stands for bytes, which tools may return for images and files. */
const BYTES = "$rkat_bytes";

function toJson(item: unknown): unknown {
  const bounded = withinNesting(item);
  return JSON.parse(
    JSON.stringify(
      changedJson(bounded, {
        leaf: (leaf) => leaf,
        whole: (value) =>
          value instanceof Uint8Array
            ? { [BYTES]: Buffer.from(value).toString("base64") }
            : undefined,
      }),
    ),
  );
}

function fromJson(stored: unknown): unknown {
  return changedJson(stored, {
    leaf: (leaf) => leaf,
    whole: (value) => {
      const bytes: unknown = Reflect.get(value, BYTES);
      return typeof bytes === "string" ? new Uint8Array(Buffer.from(bytes, "base64")) : undefined;
    },
  });
}
