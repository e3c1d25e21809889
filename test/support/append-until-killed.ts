import { parseArgs } from "node:util";
import type { NewEvent } from "../../src/core/event.ts";
import { openDatabase } from "../../src/stores/sqlite/database.ts";
import { SqliteEventStore } from "../../src/stores/sqlite/sqlite-event-store.ts";
import { say } from "./say.ts";

/**
 * A program that appends to its own session and to one that all writers share,
 * for as long as it lives. Each line it prints names a session and the last
 * `seq` that the store acknowledged.
 */
const { values } = parseArgs({
  options: { path: { type: "string" }, writer: { type: "string" }, thread: { type: "string" } },
});
const { path = "", writer = "", thread } = values;
const store = new SqliteEventStore(
  openDatabase({ path, thread: thread === "worker" ? "worker" : "main" }),
);

for (let batch = 0; ; batch += 1) {
  for (const session of [writer, "shared"]) {
    const last = await store.lastSeq(session);
    const size = 1 + (batch % 7);
    const events = Array.from({ length: size }, (_, index) => event(session, last + 1 + index));
    try {
      const acknowledged = await store.append(session, last, events);
      say(`${session} ${acknowledged}`);
    } catch (error) {
      if ((error as { code?: unknown }).code !== "SESSION_CONFLICT") throw error;
    }
  }
}

/** Says where it is, so that a reader can tell that it is there. */
function event(session: string, seq: number): NewEvent {
  const prompt = `place${seq} ${"lorem ipsum ".repeat(seq % 40)}`;
  return {
    event_id: `${session}-${seq}`,
    timestamp_ms: Date.now(),
    event: { type: "run_started", session_id: session, prompt },
  };
}
