import { expect, test } from "vitest";
import { newId } from "../core/ids.ts";
import { SessionState } from "../core/session-state.ts";
import { EphemeralEventStore } from "../stores/ephemeral/ephemeral-event-store.ts";
import { latestState } from "./latest-state.ts";

test("a long session is read from its beginning and its end only", async () => {
  const events = new EphemeralEventStore();
  const said = Array.from({ length: 5000 }, (_, index) => ({
    event_id: newId(),
    timestamp_ms: index,
    event: {
      type: "message_added" as const,
      message: { role: "user" as const, content: `prompt ${index}` },
    },
  }));
  await events.append("s", 0, said.slice(0, 4990));
  const whole = new SessionState("s");
  await whole.catchUp((after, to) => events.read("s", after, to));
  const snapshot = whole.snapshot();
  await events.append("s", 4990, said.slice(4990));

  let read = 0;
  const latest = await latestState(snapshot, async function* (after, to) {
    for await (const event of events.read("s", after, to)) {
      read += 1;
      yield event;
    }
  });
  const prompts = latest.messages.map((message) => ("content" in message ? message.content : ""));
  expect([prompts[0], prompts.at(-1)]).toEqual(["prompt 0", "prompt 4999"]);
  expect([latest.seq, latest.turns, latest.messageCount]).toEqual([5000, 5000, 5000]);
  expect(read).toBeLessThan(1100);
});
