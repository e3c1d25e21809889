import { expect, test } from "vitest";
import type { DurableEvent } from "../src/core/event.ts";
import type { LeaseOwner } from "../src/core/session-store.ts";
import { NO_USAGE } from "../src/core/usage.ts";
import { createSessionService } from "../src/index.ts";
import { EphemeralEventStore } from "../src/stores/ephemeral/ephemeral-event-store.ts";
import { EphemeralSessionStore } from "../src/stores/ephemeral/ephemeral-session-store.ts";
import { type ScriptedReply, scriptedModel } from "../src/testing.ts";
import { heldModel } from "./support/held-model.ts";

/** Stores that outlive services, as a store on disk outlives processes. */
function place() {
  const stores = { events: new EphemeralEventStore(), sessions: new EphemeralSessionStore() };
  const start = (replies: readonly ScriptedReply[], model = scriptedModel(replies)) => {
    const service = createSessionService({ model, stores, compaction: {}, builtinTools: false });
    return { service, model };
  };
  return { stores, start };
}

/** Appends what a process wrote before it was killed. */
async function killedAfter(
  { events }: ReturnType<typeof place>["stores"],
  sessionId: string,
  written: readonly DurableEvent[],
) {
  await events.append(
    sessionId,
    await events.lastSeq(sessionId),
    written.map((event, index) => ({ event_id: `${index}`, timestamp_ms: Date.now(), event })),
  );
}

const ASKED: DurableEvent[] = [
  { type: "run_started", session_id: "", prompt: "look into it" },
  { type: "turn_started", turn_number: 0 },
];
const CALLED: DurableEvent[] = [
  { type: "text_complete", content: "I look." },
  { type: "tool_call_requested", id: "a", name: "look", args: {} },
  { type: "tool_call_requested", id: "b", name: "look", args: {} },
  { type: "turn_completed", stop_reason: "tool_use", usage: NO_USAGE },
  { type: "tool_execution_started", id: "a", name: "look" },
  { type: "tool_execution_started", id: "b", name: "look" },
];
const ONE_DONE: DurableEvent = {
  type: "tool_execution_completed",
  id: "b",
  name: "look",
  result: "seen",
  is_error: false,
  duration_ms: 1,
};

test("a session whose process was killed while the model spoke goes on", async () => {
  const { stores, start } = place();
  const { sessionId } = await start([]).service.createSession({});
  await killedAfter(stores, sessionId, ASKED);
  const { service, model } = start(["back"]);
  expect((await service.startTurn({ sessionId, prompt: "again" })).text).toBe("back");
  expect(model.requests[0]?.messages).toEqual([
    { role: "user", content: "look into it" },
    { role: "user", content: "again" },
  ]);
  const types = await Array.fromAsync(stores.events.read(sessionId, 0), ({ event }) => event.type);
  expect(types.slice(2, 5)).toEqual(["turn_started", "run_failed", "run_started"]);
});

test("calls that a killed process left open get a result that says so", async () => {
  const { stores, start } = place();
  const { sessionId } = await start([]).service.createSession({});
  await killedAfter(stores, sessionId, [...ASKED, ...CALLED, ONE_DONE]);
  const { service, model } = start(["I see"]);
  await service.startTurn({ sessionId, prompt: "go on" });
  const results = model.requests[0]?.messages[2];
  expect(results).toMatchObject({
    role: "tool_results",
    results: [
      { tool_use_id: "a", is_error: true, content: expect.stringContaining("interrupted") },
      { tool_use_id: "b", is_error: false, content: "seen" },
    ],
  });
});

test("two services never run a turn in the same session at once", async () => {
  const { start } = place();
  const held = heldModel(scriptedModel(["slow"]));
  const one = start([], held.model).service;
  const two = start(["fast"]).service;
  const { sessionId } = await one.createSession({});
  const turn = one.startTurn({ sessionId, prompt: "first" });
  await held.asked;
  await expect(two.startTurn({ sessionId, prompt: "second" })).rejects.toMatchObject({
    code: "SESSION_BUSY",
  });
  expect((await two.read({ sessionId })).isActive).toBe(true);
  held.letGo();
  await turn;
  expect((await two.read({ sessionId })).isActive).toBe(false);
  expect((await two.startTurn({ sessionId, prompt: "third" })).text).toBe("fast");
});

test("a service sees what another appended since it last looked", async () => {
  const { start } = place();
  const one = start(["from one", "from one again"]);
  const two = start(["from two"]);
  const { sessionId } = await one.service.createSession({});
  await one.service.startTurn({ sessionId, prompt: "a" });
  await two.service.startTurn({ sessionId, prompt: "b" });
  await one.service.startTurn({ sessionId, prompt: "c" });
  const sent = one.model.requests[1]?.messages.map((message) =>
    message.role === "user" ? message.content : "",
  );
  expect(sent).toEqual(["a", "", "b", "", "c"]);
});

test("a lease that somebody else holds is busy, and free once it is released", async () => {
  const { stores, start } = place();
  const { service } = start(["mine"]);
  const { sessionId } = await service.createSession({});
  const other: LeaseOwner = { id: "other", host: "elsewhere", pid: 1 };
  await stores.sessions.acquire(`session:${sessionId}`, other, 60_000);
  await expect(service.startTurn({ sessionId, prompt: "x" })).rejects.toMatchObject({
    code: "SESSION_BUSY",
  });
  await stores.sessions.release(`session:${sessionId}`, other);
  expect((await service.startTurn({ sessionId, prompt: "x" })).text).toBe("mine");
});

test("closing a service interrupts its turns and leaves them in order", async () => {
  const { stores, start } = place();
  const begun = Promise.withResolvers<void>();
  const { service } = start([{ text: "never", delayMs: 60_000 }]);
  const { sessionId } = await service.createSession({});
  const turn = service.startTurn({ sessionId, prompt: "wait" }, { onEvent: () => begun.resolve() });
  const ended = expect(turn).rejects.toMatchObject({ code: "TURN_INTERRUPTED" });
  await begun.promise;
  await service.close();
  await ended;
  const last = (await Array.fromAsync(stores.events.read(sessionId, 0))).at(-1);
  expect(last?.event.type).toBe("run_failed");
});

test("a subscriber gets what another process appends", async () => {
  const { start } = place();
  const one = start([]).service;
  const two = start(["hello"]).service;
  const { sessionId } = await one.createSession({});
  const stop = new AbortController();
  const types: string[] = [];
  const following = (async () => {
    for await (const { payload } of one.subscribe({ sessionId }, { signal: stop.signal })) {
      types.push(payload.type);
      if (payload.type === "run_completed") stop.abort();
    }
  })();
  await two.startTurn({ sessionId, prompt: "hi" });
  await following;
  expect(types).toEqual([
    "run_started",
    "turn_started",
    "text_complete",
    "turn_completed",
    "run_completed",
  ]);
});

test("a session that another process deletes is gone here too, and its followers are told", async () => {
  const { start } = place();
  const one = start(["kept", "not asked"]).service;
  const two = start([]).service;
  const { sessionId } = await one.createSession({});
  await one.startTurn({ sessionId, prompt: "a" });
  const following = Array.fromAsync(one.subscribe({ sessionId, afterSeq: 0 }));
  const told = expect(following).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  await two.delete({ sessionId, now: true });
  const notFound = { code: "SESSION_NOT_FOUND" };
  await expect(one.read({ sessionId })).rejects.toMatchObject(notFound);
  await expect(one.startTurn({ sessionId, prompt: "b" })).rejects.toMatchObject(notFound);
  await told;
});

test("a turn in a session that another process deleted since it was used here finds no session", async () => {
  const { start } = place();
  const one = start(["kept", "not asked"]).service;
  const { sessionId } = await one.createSession({});
  await one.startTurn({ sessionId, prompt: "a" });
  await start([]).service.delete({ sessionId, now: true });
  const notFound = { code: "SESSION_NOT_FOUND" };
  await expect(one.startTurn({ sessionId, prompt: "b" })).rejects.toMatchObject(notFound);
  await expect(one.read({ sessionId })).rejects.toMatchObject(notFound);
});
