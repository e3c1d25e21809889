import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "./database.ts";

/** How long others, who read for a moment, may keep the log from being emptied. */
const TRIES = 40;
const PAUSE_MS = 25;

/** Empties the write-ahead log, where deleted text can still be read. */
export async function emptyLog(database: Database): Promise<void> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (await database.run("forgetDeleted")) return;
    await sleep(PAUSE_MS);
  }
}
