import type { Stores } from "./core/stores.ts";
import type { HostMemory, RecordedMessage } from "./hosts/host-memory.ts";
import { PersistentSessionService } from "./index.ts";
import { memorySearchTool } from "./tools/memory-search.ts";
import { searchProjectHistoryTool } from "./tools/search-project-history.ts";

export interface HostMemoryOptions {
  /** Such as `sqliteStores({ path })`; for one user of many, `stores.forUser(name)`. */
  readonly stores: Stores;
  /** `"user"`: a person typed the user messages. Without it they count as a program's, and teach nothing. */
  readonly author?: "user";
}

/** Records the chats of a host in `stores`, a session for each. */
export function hostMemory(
  host: string,
  { stores, author = undefined }: HostMemoryOptions,
): HostMemory {
  const service = new PersistentSessionService({ model: "none", stores, builtinTools: false });
  const origin = { author: author ?? ("program" as const) };
  const read = (item: unknown) => {
    const { message } = item as RecordedMessage;
    return message.role === "user" ? { message, origin } : { message };
  };
  return {
    tools: [
      memorySearchTool(({ queries, limit }) =>
        service.searchMemory({ query: [...queries], limit }),
      ),
      searchProjectHistoryTool((request) => service.searchHistory(request)),
    ],
    close: () => service.close(),
    async record(chatId, messages) {
      if (messages.length === 0) return;
      const labels = { host, host_session: chatId };
      await service.hostRecord(`${host}:${chatId}`, { labels }, read).change(({ items }) => {
        const known = new Set(items.map((item) => (item as RecordedMessage).id));
        const added = messages.filter(({ id }) => !known.has(id));
        return added.length === 0 ? undefined : { items: added };
      });
    },
  };
}
