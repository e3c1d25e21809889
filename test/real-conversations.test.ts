import { join } from "node:path";
import { expect, test } from "vitest";
import { indexableText } from "../src/core/message.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { benchConversations, NO_CONVERSATIONS } from "./support/bench-conversations.ts";
import { heldInMemory, inOrder, owedToMemory } from "./support/memory-account.ts";
import { messagesOf } from "./support/messages-of.ts";
import { temporaryFolder } from "./support/obey.ts";
import { replayChat } from "./support/replay-chat.ts";
import { sampled } from "./support/trials.ts";

if (NO_CONVERSATIONS) {
  test("real conversations replay", (context) => context.skip(NO_CONVERSATIONS));
}

// Each takes over two seconds: hundreds of messages are replayed, and all 29 take minutes on a slow disk.
for (const { name, chat, texts } of sampled(benchConversations(), { of: 29, at: 0 }, "cases")) {
  test(`${name} replays word for word, and memory has exactly its messages`, async () => {
    const path = join(await temporaryFolder(), "rkat.db");
    const stores = sqliteStores({ path });
    try {
      const report = await replayChat(chat, stores, { name, threshold: 4000 });
      expect(report).toMatchObject({ failures: [], interrupted: false });
      expect(report.compactions.length).toBeGreaterThan(0);
      const log = await Array.fromAsync(stores.events.read(report.session_id, 0));
      expect(messagesOf(log).flatMap((message) => indexableText(message) || [])).toEqual(texts);
      const owed = owedToMemory(report.session_id, log);
      expect(inOrder(await heldInMemory(stores.memory))).toEqual(inOrder(owed));
      expect(report.indexed_messages).toBe(owed.length);
    } finally {
      await stores.close();
    }
  });
}
