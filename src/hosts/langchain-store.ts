import type { HostRecord } from "../core/host-record.ts";
import { RecentlyUsed } from "./host-chats.ts";
import {
  filterTest,
  fitsConditions,
  jsonOf,
  type Namespace,
  type NamespaceCondition,
  requireNamespace,
  type StoredValue,
  searchableText,
} from "./langchain-store-items.ts";

/** An item, as LangGraph's stores return it. */
export interface RkatStoreItem {
  readonly namespace: string[];
  readonly key: string;
  readonly value: Record<string, unknown>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** `score`: 0 to 1, how well the item fits the query. Undefined without a query. */
export interface RkatStoreHit extends RkatStoreItem {
  readonly score?: number;
}

export interface RkatStoreSearch {
  readonly filter?: Readonly<Record<string, unknown>> | undefined;
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  readonly query?: string | undefined;
}

export interface RkatStoreNamespaces {
  readonly prefix?: readonly string[] | undefined;
  readonly suffix?: readonly string[] | undefined;
  readonly maxDepth?: number | undefined;
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

/** One operation of a `batch`: get, put, search or list. */
export type RkatStoreOperation =
  | { readonly namespace: readonly string[]; readonly key: string }
  | {
      readonly namespace: readonly string[];
      readonly key: string;
      readonly value: object | null;
      readonly index?: readonly string[] | false | undefined;
    }
  | (RkatStoreSearch & { readonly namespacePrefix: readonly string[] })
  | {
      readonly matchConditions?: readonly {
        readonly matchType: "prefix" | "suffix";
        readonly path: readonly string[];
      }[];
      readonly maxDepth?: number | undefined;
      readonly limit?: number | undefined;
      readonly offset?: number | undefined;
    };

type Put = Extract<RkatStoreOperation, { readonly value: object | null }>;

interface List extends Omit<RkatStoreNamespaces, "prefix" | "suffix"> {
  readonly matchConditions?: readonly NamespaceCondition[];
}

/** An item in the list of its namespace. Times are Unix milliseconds. */
interface StoredItem {
  readonly key: string;
  readonly value: StoredValue;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The text of the item in memory. Missing when it is not indexed. */
  readonly says?: string;
}

/** The sessions behind a store. */
export interface RkatStoreSessions {
  /** The items of a namespace. */
  recordOf(namespace: readonly string[]): HostRecord;
  /** The namespaces that were ever written to, below a prefix. */
  namespaces(prefix: readonly string[]): Promise<readonly (readonly string[])[]>;
  /** Texts in these namespaces that fit a query, best first. */
  search(
    query: string,
    namespaces: readonly (readonly string[])[],
    limit: number,
  ): Promise<readonly RkatStoreText[]>;
  /** The form in which memory stores a text. */
  inMemory(text: string): string;
  close(): Promise<void>;
}

/** A text that memory found. */
export interface RkatStoreText {
  readonly namespace: readonly string[];
  readonly content: string;
  readonly score: number;
}

const LIMIT_DEFAULT = 10;
const NAMESPACES_DEFAULT = 100;
/** Namespaces whose records a store keeps. */
const RECORDS_MAX = 200;
/** The most texts that memory is asked for in one search. */
const FOUND_MAX = 1_000;

/**
 * LangGraph's `BaseStore` in rkat's stores. Each namespace is a session, and its items are a list in the
 * session's log. What they say is in memory.
 */
export class RkatStore {
  readonly #sessions: RkatStoreSessions;
  readonly #records = new RecentlyUsed<HostRecord>(RECORDS_MAX);

  /** @internal The function of the door makes one. */
  constructor(sessions: RkatStoreSessions) {
    this.#sessions = sessions;
  }

  async get(namespace: readonly string[], key: string): Promise<RkatStoreItem | null> {
    const items = await this.#itemsOf(namespace);
    const item = items.find((each) => each.key === key);
    return item ? shown(namespace, item) : null;
  }

  /** `index`: paths of the fields that searches find, such as `["title"]`; `false` for none. */
  async put(
    namespace: readonly string[],
    key: string,
    value: Record<string, unknown>,
    index?: readonly string[] | false,
  ): Promise<void> {
    requireNamespace(namespace);
    const stored = jsonOf(key, value);
    const says = searchableText(key, stored, index);
    await this.#recordOf(namespace).change(({ items, changedAtMs }) => {
      const at = positionOf(items, key);
      const updatedAt = Math.max(Date.now(), changedAtMs);
      const { createdAt = updatedAt } = (items[at] ?? {}) as Partial<StoredItem>;
      const item: StoredItem = {
        key,
        value: stored,
        createdAt,
        updatedAt,
        ...(says === "" ? {} : { says }),
      };
      return { items: [item], ...(at < 0 ? {} : { replaced: { from: at, count: 1 } }) };
    });
  }

  async delete(namespace: readonly string[], key: string): Promise<void> {
    if (positionOf(await this.#itemsOf(namespace), key) < 0) return;
    await this.#recordOf(namespace).change(({ items }) => {
      const at = positionOf(items, key);
      return at < 0 ? undefined : { items: [], replaced: { from: at, count: 1 } };
    });
  }

  /** Items below a prefix. With a query, those that fit it, best first. */
  async search(
    namespacePrefix: readonly string[],
    { filter, query, limit = LIMIT_DEFAULT, offset = 0 }: RkatStoreSearch = {},
  ): Promise<RkatStoreHit[]> {
    const fits = filterTest(filter);
    const candidates: Candidate[] = [];
    for (const namespace of await this.#namespacesBelow(namespacePrefix)) {
      const items = await this.#itemsOf(namespace);
      const fitting = items.filter(({ value }) => fits(value));
      candidates.push(...fitting.map((item) => ({ namespace, item })));
    }
    const found = query ? await this.#ranked(query, candidates, offset + limit) : candidates;
    return found.slice(offset, offset + limit).map(({ namespace, item, score }) => ({
      ...shown(namespace, item),
      ...(score === undefined ? {} : { score }),
    }));
  }

  /** Namespaces that have items, in the order of their names. */
  async listNamespaces({ prefix, suffix, ...page }: RkatStoreNamespaces = {}): Promise<string[][]> {
    const conditions: NamespaceCondition[] = [
      ...(prefix ? [{ matchType: "prefix" as const, path: prefix }] : []),
      ...(suffix ? [{ matchType: "suffix" as const, path: suffix }] : []),
    ];
    return await this.#list({ ...page, matchConditions: conditions });
  }

  /** Runs several operations. Reads see the store as it was before the writes, as in LangGraph's own stores. */
  async batch<Results = unknown[]>(operations: readonly RkatStoreOperation[]): Promise<Results> {
    const results: unknown[] = [];
    const puts = new Map<string, Put>();
    for (const operation of operations) {
      if ("namespacePrefix" in operation) {
        results.push(await this.search(operation.namespacePrefix, operation));
      } else if (!("namespace" in operation)) {
        results.push(await this.#list(operation));
      } else if ("value" in operation) {
        puts.set(JSON.stringify([operation.namespace, operation.key]), operation);
        results.push(undefined);
      } else {
        results.push(await this.get(operation.namespace, operation.key));
      }
    }
    for (const { namespace, key, value, index } of puts.values()) {
      if (value === null) await this.delete(namespace, key);
      else await this.put(namespace, key, value as Record<string, unknown>, index);
    }
    return results as Results;
  }

  start(): void {}

  /** The same as `close`. */
  async stop(): Promise<void> {
    await this.close();
  }

  /** Brings memory up to date. Call it before you close the stores. */
  async close(): Promise<void> {
    await this.#sessions.close();
  }

  #recordOf(namespace: Namespace): HostRecord {
    return this.#records.of(JSON.stringify(namespace), () => this.#sessions.recordOf(namespace));
  }

  async #itemsOf(namespace: Namespace): Promise<readonly StoredItem[]> {
    const { items } = await this.#recordOf(namespace).read();
    return [...items] as StoredItem[];
  }

  async #namespacesBelow(prefix: Namespace): Promise<readonly Namespace[]> {
    const namespaces = await this.#sessions.namespaces(prefix);
    return [...namespaces].sort((one, other) => (one.join(":") < other.join(":") ? -1 : 1));
  }

  async #list({ matchConditions = [], maxDepth, limit = NAMESPACES_DEFAULT, offset = 0 }: List) {
    const prefix = matchConditions.find(({ matchType }) => matchType === "prefix")?.path ?? [];
    const wildcard = prefix.indexOf("*");
    const listed = new Map<string, string[]>();
    const below = await this.#namespacesBelow(prefix.slice(0, wildcard < 0 ? undefined : wildcard));
    for (const namespace of below) {
      if (!fitsConditions(namespace, matchConditions)) continue;
      if ((await this.#itemsOf(namespace)).length === 0) continue;
      const path = namespace.slice(0, maxDepth);
      listed.set(JSON.stringify(path), path);
    }
    return [...listed.values()].slice(offset, offset + limit);
  }

  /**
   * The candidates that memory finds, best first. Memory also has earlier values, which take up places,
   * so it is asked for more until there are enough.
   */
  async #ranked(query: string, candidates: readonly Candidate[], count: number) {
    const byText = Map.groupBy(candidates, ({ namespace, item: { says = "" } }) =>
      nameOf(namespace, this.#sessions.inMemory(says)),
    );
    const namespaces = new Map(
      candidates.map(({ namespace }) => [JSON.stringify(namespace), namespace]),
    );
    for (let limit = Math.min(2 * count, FOUND_MAX); ; limit = Math.min(4 * limit, FOUND_MAX)) {
      const found = await this.#sessions.search(query, [...namespaces.values()], limit);
      const ranked = new Map<Candidate, number>();
      for (const { namespace, content, score } of found) {
        for (const each of byText.get(nameOf(namespace, content)) ?? []) {
          if (!ranked.has(each)) ranked.set(each, score);
        }
      }
      if (ranked.size >= count || found.length < limit || limit === FOUND_MAX) {
        return [...ranked].map(([candidate, score]) => ({ ...candidate, score }));
      }
    }
  }
}

interface Candidate {
  readonly namespace: Namespace;
  readonly item: StoredItem;
  readonly score?: number;
}

/** The text of an item, for memory. */
export function textOfStoredItem(item: unknown): string {
  return (item as StoredItem).says ?? "";
}

function nameOf(namespace: Namespace, text: string): string {
  return JSON.stringify([namespace, text]);
}

function positionOf(items: readonly unknown[], key: string): number {
  return items.findIndex((item) => (item as StoredItem).key === key);
}

function shown(
  namespace: Namespace,
  { key, value, createdAt, updatedAt }: StoredItem,
): RkatStoreItem {
  return {
    namespace: [...namespace],
    key,
    value: structuredClone(value),
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
  };
}
