import type { Stores } from "./core/stores.ts";
import type { HostMemory } from "./hosts/host-memory.ts";
import { PersistentSessionService } from "./index.ts";
import { memorySearchTool } from "./tools/memory-search.ts";
import { searchProjectHistoryTool } from "./tools/search-project-history.ts";
import { readWindowItem } from "./window/window-record.ts";

export interface HostMemoryOptions {
  /** Such as `sqliteStores({ path })`; for one user of many, `stores.forUser(name)`. */
  readonly stores: Stores;
  /** `"user"`: a person typed the user messages. Without it they count as a program's, and teach nothing. */
  readonly author?: "user";
}

/** Keeps the windows of a host's chats in `stores`, in a session for each chat. */
export function hostMemory(
  host: string,
  { stores, author = undefined }: HostMemoryOptions,
): HostMemory {
  const service = new PersistentSessionService({ model: "none", stores, builtinTools: false });
  const origin = { author: author ?? ("program" as const) };
  return {
    tools: [
      memorySearchTool(({ queries, limit }) =>
        service.searchMemory({ query: [...queries], limit }),
      ),
      searchProjectHistoryTool((request) => service.searchHistory(request)),
    ],
    recordOf(chatId) {
      const labels = { host, host_session: chatId };
      return service.hostRecord(`${host}:${chatId}`, { labels }, (item) => {
        const said = readWindowItem(item);
        return said?.origin ? { ...said, origin } : said;
      });
    },
    close: () => service.close(),
  };
}
