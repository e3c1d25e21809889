import { afterEach, describe, test } from "vitest";
import { type AiSdkMessage, aiSdkView, toModelMessages } from "../src/ai-sdk.ts";
import type { Message } from "../src/core/message.ts";
import { createHistoryWindow, createSessionService, type Stores } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { type WindowMaker, windowLaws } from "../src/testing.ts";
import { messageView } from "./support/message-view.ts";
import { type Part, sampled } from "./support/trials.ts";

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

const written = {
  write: (message: Message) => [message],
  read: (message: object) => message as Message,
};

/** Each of the two others keeps some of the laws in the short form. */
const PARTS: Readonly<Record<string, Part>> = {
  "over the AI SDK's messages": { of: 8, at: 2 },
  "with stores": { of: 8, at: 4 },
};

const WINDOWS: Record<string, WindowMaker> = {
  "in this process": {
    open: async (setup) => ({
      window: createHistoryWindow({ ...setup, view: messageView }) as never,
      ...written,
    }),
  },
  "over the AI SDK's messages": {
    open: async (setup) => ({
      window: createHistoryWindow({ ...setup, view: aiSdkView }) as never,
      write: (message) => toModelMessages([message]),
      read: (message) => aiSdkView.read(message as AiSdkMessage).message,
    }),
  },
  "with stores": {
    async open(setup) {
      const stores = sqliteStores({ path: ":memory:" });
      opened.push(stores);
      const window = createHistoryWindow({ ...setup, view: messageView, stores, chatId: "chat" });
      return { window: window as never, ...written, search: searchOf(stores), recalls: true };
    },
  },
};

/** What the model's own tools would find. */
function searchOf(stores: Stores) {
  const service = createSessionService({ model: "none", stores });
  opened.push(service);
  return async (query: string) => {
    const hits = [
      ...(await service.searchMemory({ query })),
      ...(await service.searchHistory({ query })),
    ];
    return hits.map(({ content }) => content);
  };
}

describe.each(Object.entries(WINDOWS))("a window %s", (name, windows) => {
  const part = PARTS[name];
  for (const law of part ? sampled(windowLaws, part) : windowLaws)
    test(law.name, () => law.holds(async () => windows));
});
