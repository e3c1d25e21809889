import { expect, test } from "vitest";
import { newId } from "../core/ids.ts";
import { SessionState } from "../core/session-state.ts";
import type { Stores } from "../core/stores.ts";
import { EphemeralEventStore } from "../stores/ephemeral/ephemeral-event-store.ts";
import { ephemeralStores } from "../stores/ephemeral/ephemeral-stores.ts";
import { latestState, noteTask } from "./latest-state.ts";

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

async function longSession(stores: Stores): Promise<SessionState> {
  const said = Array.from({ length: 5000 }, (_, index) => ({
    event_id: newId(),
    timestamp_ms: index,
    event: {
      type: "message_added" as const,
      message: { role: "user" as const, content: `prompt ${index}` },
    },
  }));
  await stores.events.append("s", 0, said);
  return await fold(stores);
}

async function fold({ events }: Stores): Promise<SessionState> {
  const state = new SessionState("s");
  await state.catchUp((after, to) => events.read("s", after, to));
  return state;
}

test("a note in a long session reads the end of its log, and the saved session is what the log says", async () => {
  const stores = ephemeralStores();
  await stores.sessions.save((await longSession(stores)).snapshot());
  let read = 0;
  const events = {
    ...stores.events,
    async *read(id: string, after: number, to?: number) {
      for await (const event of stores.events.read(id, after, to)) {
        read += 1;
        yield event;
      }
    },
  } as Stores["events"];
  expect(await noteTask({ ...stores, events }, "s", { lost: "src/a.ts" })).toBe(true);
  expect(await noteTask({ ...stores, events }, "s", { lost: "src/a.ts" })).toBe(true);
  expect(read).toBeLessThan(2500);
  const state = await fold(stores);
  expect(state.seq).toBe(5001);
  expect(state.working.task.scratchpad).toEqual({ lost: "src/a.ts" });
  expect(await stores.sessions.load("s")).toEqual(state.snapshot());
});

test("a session whose snapshot is behind its log, or that is not there, gets no note this way", async () => {
  const stores = ephemeralStores();
  expect(await noteTask(stores, "s", { a: "b" })).toBe(false);
  const state = await longSession(stores);
  await stores.sessions.save({ ...state.snapshot(), seq: 4000 });
  expect(await noteTask(stores, "s", { a: "b" })).toBe(false);
  await stores.sessions.save({ ...state.snapshot(), running: true });
  expect(await noteTask(stores, "s", { a: "b" })).toBe(false);
  expect(await stores.events.lastSeq("s")).toBe(5000);
});
