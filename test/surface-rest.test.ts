import { describe, expect, onTestFinished, test } from "vitest";
import type { EventEnvelope, SessionService } from "../src/index.ts";
import { connectRest } from "../src/rest.ts";
import { BUILDS, type OpenService, type ServiceSetup, sessionServiceLaws } from "../src/testing.ts";
import { contractTests } from "./support/contract-tests.ts";
import { eventsOf } from "./support/eventful-conversation.ts";
import { freePort } from "./support/free-port.ts";
import { obey, temporaryFolder } from "./support/obey.ts";
import { startScriptedRest } from "./support/rest-process.ts";
import {
  expectSameCodes,
  expectSameEvents,
  expectSameRefusals,
  expectSameTexts,
  failureOf,
  type OpenSurface,
} from "./support/same-as-sdk.ts";
import { scriptedService } from "./support/scripted-service.ts";
import { closingWith, overRest } from "./support/surfaces.ts";
import { LONG, PART_OF_SURFACE } from "./support/trials.ts";

const EVERYTHING = BUILDS.F ?? [];

const open: OpenSurface = (place, setup) =>
  LONG ? overProcess(place, setup) : overRest(scriptedService(place, setup));

describe("SessionService over REST", () => {
  obey<OpenService>(sessionServiceLaws, [
    {
      name: "rest",
      durable: true,
      part: PART_OF_SURFACE.rest,
      open: async (place) => async (setup) => open(place, setup),
    },
  ]);
});

describe("the contract over REST", () => contractTests(open, { part: PART_OF_SURFACE.rest }));

test("a conversation gives the same events as over the SDK, as they happen and in the log", () =>
  expectSameEvents(open));

test("bad requests fail with the same codes as over the SDK", () => expectSameCodes(open));

test("to subscribe to what there is not fails as it does over the SDK", () =>
  expectSameRefusals(open));

test("a message names fields as over the SDK, and quotes the caller's text unchanged", () =>
  expectSameTexts(open));

test("a cancelled turn is interrupted, and only then has its promise ended", async () => {
  const replies = [{ text: "never", delayMs: 60_000 }, "back"];
  const setup = { capabilities: EVERYTHING, replies };
  const { url } = await startScriptedRest(await temporaryFolder(), setup);
  const service = connect(url);
  const { sessionId } = await service.createSession({});
  const cancel = new AbortController();
  const turn = service.startTurn(
    { sessionId, prompt: "wait" },
    { signal: cancel.signal, onEvent: () => cancel.abort() },
  );
  expect((await failureOf(() => turn)).code).toBe("TURN_INTERRUPTED");
  expect((await service.startTurn({ sessionId, prompt: "go on" })).text).toBe("back");
});

// Takes over two seconds: the servers are in processes of their own.
test("a turn at one server is watched, and interrupted, at another on the same store", async () => {
  const place = await temporaryFolder();
  const replies = [{ text: "never", delayMs: 60_000 }];
  const there = await startScriptedRest(place, { capabilities: EVERYTHING, replies });
  const runs = connect(there.url);
  const watches = await open(place, { capabilities: EVERYTHING, replies: ["back"] });
  const { sessionId } = await runs.createSession({});
  const failed = failureOf(() => runs.startTurn({ sessionId, prompt: "wait" }));
  for await (const { payload } of watches.subscribe({ sessionId, afterSeq: 0 })) {
    if (payload.type === "turn_started") await watches.interrupt({ sessionId });
    if (payload.type === "run_failed") break;
  }
  expect((await failed).code).toBe("TURN_INTERRUPTED");
  expect((await failureOf(() => watches.interrupt({ sessionId }))).code).toBe(
    "SESSION_NOT_RUNNING",
  );
  expect((await watches.startTurn({ sessionId, prompt: "go on" })).text).toBe("back");
});

// Takes over two seconds: the servers are processes.
test("when the server is killed in a turn and comes back, a subscriber has missed nothing and the session goes on", async () => {
  const place = await temporaryFolder();
  const call = { id: "c", name: "memory_search", args: { query: "fox" } };
  const replies = [
    "one",
    { text: "searching", toolCalls: [call] },
    { text: "never", delayMs: 60_000 },
  ];
  const port = await freePort();
  const first = await startScriptedRest(place, { capabilities: EVERYTHING, replies }, { port });
  const service = connect(first.url);
  const { sessionId } = await service.createSession({});
  const told: EventEnvelope[] = [];
  const subscribed = Promise.withResolvers<void>();
  const stop = new AbortController();
  const subscriber = (async () => {
    const options = { signal: stop.signal, onOpen: () => subscribed.resolve() };
    for await (const event of service.subscribe({ sessionId, afterSeq: 0 }, options)) {
      told.push(event);
      if (event.payload.type === "run_completed" && event.payload.result === "back") stop.abort();
    }
  })();
  await subscribed.promise;
  await service.startTurn({ sessionId, prompt: "first" });
  const failed = await failureOf(() =>
    service.startTurn(
      { sessionId, prompt: "second" },
      {
        onEvent({ payload }) {
          if (payload.type === "tool_result_received") first.child.kill("SIGKILL");
        },
      },
    ),
  );
  expect(failed.code).toBe("SERVICE_UNAVAILABLE");
  await first.end("SIGKILL");

  const setup = { capabilities: EVERYTHING, replies: ["back"] };
  await startScriptedRest(place, setup, { port });
  expect((await service.resume({ sessionId, prompt: "go on" })).text).toBe("back");
  await subscriber;
  const durable = told.filter(({ payload }) => !payload.type.endsWith("_delta"));
  const { seq } = await service.read({ sessionId });
  expect(durable.map((event) => event.seq)).toEqual(Array.from({ length: seq }, (_, at) => at + 1));
  expect(durable).toEqual(await eventsOf(service, sessionId, 0, seq));
});

/** A client of a scripted service that its own process serves. Closing it ends that process. */
async function overProcess(place: string, setup: ServiceSetup): Promise<SessionService> {
  const server = await startScriptedRest(place, setup);
  return closingWith(connectRest({ url: server.url }), () => server.end("SIGTERM"));
}

function connect(url: string): SessionService {
  const service = connectRest({ url });
  onTestFinished(() => service.close());
  return service;
}
