import { SessionError } from "../core/errors.ts";
import type { HostMessage } from "../core/host-record.ts";
import {
  anything,
  group,
  PRICED_WINDOW,
  requireOptions,
  someText,
  stores as storesCheck,
  whole,
} from "../core/options.ts";
import type { Stores } from "../core/stores.ts";
import { warnedOutages } from "../core/warn.ts";
import type { HostMemory } from "../hosts/host-chats.ts";
import { pinnedNotes } from "../recall/choose-records.ts";
import { BAR_LEAST } from "../recall/recall-bar.ts";
import { RECALL_TOKENS_DEFAULT } from "../recall/recall-room.ts";
import { memoryBar } from "../session/memory-bar.ts";
import { memorySearchTool, searchProjectHistoryTool } from "../tools/memory-search.ts";
import { createHistoryWindow as createWindow } from "../window/create-history-window.ts";
import type {
  HistoryWindow,
  HistoryWindowOptions as WindowOptions,
} from "../window/history-window.ts";
import type { WindowMemory } from "../window/window-recall.ts";
import { readWindowItem } from "../window/window-record.ts";
import { type HostService, openHostService } from "./host-service.ts";

export interface HostMemoryOptions {
  /** Such as `sqliteStores({ path })`; for one user of many, `stores.forUser(name)`. */
  readonly stores: Stores;
  /** `"user"`: a person typed the user messages. Without it they count as a program's, and teach nothing. */
  readonly author?: "user";
  /**
   * Tokens that records of memory may take before a prompt that they are about. They come by themselves. Default 1500;
   * 0 for none.
   */
  readonly recallTokens?: number;
}

/** The options as a host got them. */
interface Given extends Pick<HostMemoryOptions, "stores"> {
  readonly author?: "user" | undefined;
  readonly recallTokens?: number | undefined;
}

/** Keeps the windows of a host's chats in `stores`, in a session for each chat. */
export function hostMemory(host: string, { stores, author, recallTokens }: Given): HostMemory {
  const readAs = (by: "user" | "program") => (item: unknown) => {
    const said = readWindowItem(item);
    return said?.origin ? { ...said, origin: { ...said.origin, author: by } } : said;
  };
  return memoryWith(
    { stores, recallTokens },
    (chatId) => ({ id: `${host}:${chatId}`, labels: { host, host_session: chatId } }),
    (isInner) => readAs(isInner ? "program" : (author ?? "program")),
  );
}

/** The same for chats that a program names itself. */
export function chatMemory(options: Given): HostMemory {
  return memoryWith(
    options,
    (chatId) => ({ id: `chat:${chatId}`, labels: { chat: chatId } }),
    () => readWindowItem,
  );
}

function memoryWith(
  { stores, recallTokens }: Given,
  sessionOf: (chatId: string) => {
    readonly id: string;
    readonly labels: Readonly<Record<string, string>>;
  },
  readerOf: (isInner: boolean) => (item: unknown) => HostMessage | undefined,
): HostMemory {
  const { service, recordOf, close } = openHostService(stores);
  return {
    tools: [
      memorySearchTool(({ queries, limit }) =>
        service.searchMemory({ query: [...queries], limit }),
      ),
      searchProjectHistoryTool((request) => service.searchHistory(request)),
    ],
    recordOf(chatId, isInner = false) {
      const { id, labels } = sessionOf(chatId);
      return recordOf(id, { labels }, readerOf(isInner));
    },
    memoryFor: (chatId) => windowMemory(sessionOf(chatId).id, { service, stores, recallTokens }),
    close,
  };
}

/** The memory whose records come back by themselves in the window of a session. */
export function windowMemory(
  sessionId: string,
  {
    service,
    stores,
    recallTokens = RECALL_TOKENS_DEFAULT,
  }: Pick<HostService, "service"> & Omit<Given, "author">,
): WindowMemory {
  return {
    sessionId,
    recallTokens,
    search: (query) => warnedOutages.watch(stores, () => service.searchMemory(query)),
    pinned: async () => (stores.memory ? await pinnedNotes(stores.memory) : []),
    bar: async () => (stores.memory ? await memoryBar(stores.memory, stores.events) : BAR_LEAST),
    failed: (error) => warnedOutages.failed(stores, error, "The chat goes on without memory."),
  };
}

export interface HistoryWindowOptions<HostMessage extends object>
  extends Omit<WindowOptions<HostMessage>, "record" | "memory">,
    Pick<HostMemoryOptions, "recallTokens"> {
  /** Such as `sqliteStores({ path })`; for one user of many, `stores.forUser(name)`. Needs a `chatId`. */
  readonly stores?: Stores;
  /** Your id of the conversation. Its session has the id `chat:<chatId>`. */
  readonly chatId?: string;
}

/**
 * Compaction for a loop that is not rkat's. With `stores` and a `chatId`, a later process goes on where
 * this one ends, and searches find the compacted messages.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function createHistoryWindow<HostMessage extends object>(
  given: HistoryWindowOptions<HostMessage>,
): HistoryWindow<HostMessage> {
  const more = {
    view: anything,
    model: someText,
    stores: storesCheck,
    chatId: someText,
    recallTokens: whole(0),
  };
  requireOptions("createHistoryWindow", group({ ...PRICED_WINDOW, ...more }), given);
  const { stores, chatId, recallTokens, ...options } = given;
  if (!stores) return createWindow(options);
  if (!chatId) {
    throw new SessionError("INVALID_PARAMS", {
      message: "The window has stores, but no chatId.",
      hint: "Pass your id of the conversation as `chatId`.",
    });
  }
  const memory = chatMemory({ stores, recallTokens });
  const window = createWindow({
    ...options,
    record: memory.recordOf(chatId),
    memory: memory.memoryFor(chatId),
  });
  return {
    apply: (history, applied) => window.apply(history, applied),
    async close() {
      await window.close();
      await memory.close();
    },
  };
}
