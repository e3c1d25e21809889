import { createReadStream } from "node:fs";
import { buffer } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { sqliteStores } from "../../src/sqlite.ts";
import { replayChat } from "./replay-chat.ts";
import { say } from "./say.ts";

/**
 * A program that replays a conversation into a store, over and over. Each line
 * it prints names a session and the `seq` of an event that a listener was told.
 */
const { values } = parseArgs({ options: { path: { type: "string" }, file: { type: "string" } } });
const { path = "", file = "" } = values;
const chat = await buffer(createReadStream(file));
const stores = sqliteStores({ path });
for (;;) {
  await replayChat(chat, stores, {
    threshold: 2000,
    watch: {
      onEvent: ({ source_id, seq }) => {
        say(`${source_id.replace(/^session:/, "")} ${seq}`);
      },
    },
  });
}
