import { join } from "node:path";
import { expect, test } from "vitest";
import { sqliteStores } from "../src/sqlite.ts";
import { benchConversations, NO_CONVERSATIONS } from "./support/bench-conversations.ts";
import { heldInMemory, inOrder, owedToMemory } from "./support/memory-account.ts";
import { temporaryFolder } from "./support/obey.ts";
import { replayChat } from "./support/replay-chat.ts";

/** All 29 take minutes on a slow disk; some of each kind show the same. */
const PER_SET = process.env.RKAT_ALL_CONVERSATIONS ? Number.POSITIVE_INFINITY : 2;

if (NO_CONVERSATIONS) {
  test("real conversations replay", (context) => context.skip(NO_CONVERSATIONS));
}

for (const { name, chat, lines } of benchConversations(PER_SET)) {
  test(`${name} replays, and memory has exactly what left its history`, async () => {
    const path = join(await temporaryFolder(), "rkat.db");
    const stores = sqliteStores({ path });
    try {
      const report = await replayChat(chat, stores, { name, threshold: 4000 });
      expect(report).toMatchObject({ messages: lines, failures: [], interrupted: false });
      expect(report.compactions.length).toBeGreaterThan(0);
      const log = await Array.fromAsync(stores.events.read(report.session_id, 0));
      const owed = owedToMemory(report.session_id, log);
      expect(inOrder(heldInMemory(path))).toEqual(inOrder(owed));
      expect(report.indexed_messages).toBe(owed.length);
    } finally {
      await stores.close();
    }
  });
}
