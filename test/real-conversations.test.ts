import { join } from "node:path";
import { expect, test } from "vitest";
import { indexableText } from "../src/core/message.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { benchConversations, NO_CONVERSATIONS } from "./support/bench-conversations.ts";
import { heldInMemory, inOrder, owedToMemory } from "./support/memory-account.ts";
import { messagesOf } from "./support/messages-of.ts";
import { temporaryFolder } from "./support/obey.ts";
import { replayChat } from "./support/replay-chat.ts";
import { trials } from "./support/trials.ts";

/** All 29 take minutes on a slow disk. */
const PER_SET = trials(2, Number.POSITIVE_INFINITY);

if (NO_CONVERSATIONS) {
  test("real conversations replay", (context) => context.skip(NO_CONVERSATIONS));
}

for (const { name, chat, texts } of benchConversations(PER_SET)) {
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
