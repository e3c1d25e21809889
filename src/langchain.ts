/** rkat in the agents of LangChain and the graphs of LangGraph. */

import { openHostService } from "./app/host-service.ts";
import { type HostMemoryOptions, hostMemory } from "./app/host-windows.ts";
import { SessionError } from "./core/errors.ts";
import { group, HOST as OPTIONS, object, prices, requireOptions } from "./core/options.ts";
import type { Stores } from "./core/stores.ts";
import {
  type LangChainMiddlewareOptions,
  langChainMiddleware,
} from "./hosts/langchain-middleware.ts";
import { RkatStore, textOfStoredItem } from "./hosts/langchain-store.ts";
import { hashOf } from "./knowledge/hash-of.ts";
import { redactSecrets } from "./secrets/redact-secrets.ts";

export type { LangChainToolCall } from "./hosts/langchain-messages.ts";
export type {
  RkatStore,
  RkatStoreHit,
  RkatStoreItem,
  RkatStoreNamespaces,
  RkatStoreOperation,
  RkatStoreSearch,
} from "./hosts/langchain-store.ts";

export interface RkatMiddlewareOptions
  extends LangChainMiddlewareOptions,
    Partial<HostMemoryOptions> {}

/**
 * Middleware for `createAgent`: compaction, a second try when the model's provider calls the history
 * too long, and, with `stores`, a memory of everything that leaves the history.
 *
 *     const agent = createAgent({ model, tools, middleware: [rkatMiddleware({ contextWindow: 200_000 })] });
 *
 * The model of the agent writes the summaries, unless you pass `summarize`.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function rkatMiddleware(given: RkatMiddlewareOptions) {
  requireOptions("rkatMiddleware", group({ ...OPTIONS, prices }), given);
  const { stores, author, recallTokens, ...options } = given;
  const memory = stores && hostMemory("langchain", { stores, author, recallTokens });
  return langChainMiddleware(options, memory);
}

export interface RkatStoreOptions {
  /** Such as `sqliteStores({ path })`; for one user of many, `stores.forUser(name)`. */
  readonly stores: Stores;
}

const HOST = "langgraph-store";

/**
 * The long-term store of a graph or an agent: LangGraph's `BaseStore`.
 *
 *     const store = rkatStore({ stores });
 *     const agent = createAgent({ model, tools, store });
 *     await store.search(["users", "ada"], { query: "what does she drink?", filter: { kind: "taste" } });
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function rkatStore(options: RkatStoreOptions): RkatStore {
  requireOptions("rkatStore", object({}), options);
  const { stores } = options;
  const memory = stores?.memory;
  if (!memory) {
    throw new SessionError("INVALID_PARAMS", {
      message: "rkatStore has no stores with a memory.",
      hint: 'Pass `stores`, such as `sqliteStores({ path: ".rkat/rkat.db" })`.',
    });
  }
  const { service, recordOf, close } = openHostService(stores);
  return new RkatStore({
    recordOf: (namespace) =>
      recordOf(idOf(namespace), { labels: labelsOf(namespace) }, (item) => {
        const content = textOfStoredItem(item);
        if (content === "") return undefined;
        return { message: { role: "user", content }, origin: { author: "program" } };
      }),
    async namespaces(prefix) {
      const query = { labels: labelsOf(prefix), includeArchived: true };
      return (await stores.sessions.list(query)).map(({ settings }) =>
        namespaceOf(settings.labels),
      );
    },
    async search(query, namespaces, limit) {
      // Memory follows the log. This waits until it has all of it.
      await service.listMemory({ limit: 1 });
      const byId = new Map(namespaces.map((namespace) => [idOf(namespace), namespace]));
      const sessions = { only: [...byId.keys()] };
      const hits = await memory.search({ query, limit, sessions, kind: "message" });
      return hits.flatMap(({ sessionId, content, score }) => {
        const namespace = byId.get(sessionId);
        return namespace ? [{ namespace, content, score }] : [];
      });
    },
    inMemory: redactSecrets,
    close,
  });
}

/** Labels may be too long for an id. */
function idOf(namespace: readonly string[]): string {
  return `${HOST}:${hashOf(namespace)}`;
}

function labelsOf(namespace: readonly string[]): Record<string, string> {
  const labels = namespace.map((label, index) => [`namespace.${index}`, label] as const);
  return { host: HOST, ...Object.fromEntries(labels) };
}

function namespaceOf(labels: Readonly<Record<string, string>>): readonly string[] {
  const { host: _, ...parts } = labels;
  return Object.keys(parts).map((_, index) => parts[`namespace.${index}`] ?? "");
}
