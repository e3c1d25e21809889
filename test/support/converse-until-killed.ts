import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { SessionError } from "../../src/core/errors.ts";
import { isTransient } from "../../src/core/event.ts";
import { createSessionService } from "../../src/index.ts";
import { postgresStores } from "../../src/postgres.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { say } from "./say.ts";

/**
 * A program that runs turns in its own session and in one that all writers share, for as long as it
 * lives. It prints each event that it saw: `session seq event_id`. A line that begins with `~` is a failure
 * that may be tried again, one with `!` any other. With `--watches` it also watches these sessions, and tells of what it is shown
 * twice or not at all.
 */
const { values } = parseArgs({
  options: {
    url: { type: "string" },
    schema: { type: "string" },
    writer: { type: "string" },
    sessions: { type: "string" },
    pause: { type: "string" },
    watches: { type: "boolean", default: false },
  },
});
const { url = "", schema = "", writer = "", sessions = "", pause = "0", watches } = values;
const stores = postgresStores({ connectionString: url, schema, notify: watches });
const model = scriptedModel((_, call) => `The otter of ${writer} swims in river ${call}.`);
const service = createSessionService({ model, stores });

if (watches) for (const sessionId of sessions.split(",")) void watch(sessionId);
for (let turn = 0; ; turn += 1) {
  for (const sessionId of sessions.split(",")) {
    await sleep(Math.random() * 2 * Number(pause));
    const prompt = `Where is otter ${turn} of ${writer} ${process.pid}?`;
    try {
      await service.startTurn(
        { sessionId, prompt },
        {
          onEvent({ event_id, seq, payload }) {
            if (!isTransient(payload)) say(`${sessionId} ${seq} ${event_id}`);
          },
        },
      );
    } catch (error) {
      tell(error);
    }
  }
}

async function watch(sessionId: string): Promise<void> {
  for (let last = 0; ; ) {
    try {
      for await (const { seq, payload } of service.subscribe({ sessionId, afterSeq: last })) {
        if (isTransient(payload)) continue;
        if (seq !== last + 1) say(`!${sessionId} was shown event ${seq} after ${last}`);
        last = seq;
      }
    } catch (error) {
      tell(error);
    }
  }
}

function tell(error: unknown): void {
  const { code, message, retry } = SessionError.from(error);
  if (code === "SESSION_BUSY") return;
  const line = `${code} ${message}`.replaceAll("\n", " ");
  say(`${retry || code === "SESSION_CONFLICT" ? "~" : "!"}${line}`);
}
