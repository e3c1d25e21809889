import { describe, expect, onTestFinished, test } from "vitest";
import type { EventEnvelope, SessionService } from "../src/index.ts";
import { connectMcp } from "../src/mcp.ts";
import {
  BUILDS,
  type Law,
  type OpenService,
  type ServiceSetup,
  sessionServiceLaws,
} from "../src/testing.ts";
import { contractTests } from "./support/contract-tests.ts";
import { eventsOf } from "./support/eventful-conversation.ts";
import { obey, temporaryFolder } from "./support/obey.ts";
import { countSample } from "./support/running-test.ts";
import {
  expectSameCodes,
  expectSameEvents,
  expectSameRefusals,
  expectSameTexts,
  failureOf,
} from "./support/same-as-sdk.ts";
import { overHttp, overStdio, startHttp } from "./support/scripted-mcp.ts";
import { LONG, PART_OF_SURFACE, REPEATED, sampled } from "./support/trials.ts";

const EVERYTHING = BUILDS.F ?? [];

/**
 * All laws run over HTTP. Over the others only what that transport could break, unless all are asked for: half of it
 * over each.
 */
function lawsOf(names: RegExp, half: 0 | 1): readonly Law<OpenService>[] {
  const chosen = LONG
    ? sessionServiceLaws
    : sessionServiceLaws.filter(({ name }) => names.test(name)).filter((_, at) => at % 2 === half);
  countSample(REPEATED, chosen.length, sessionServiceLaws.length);
  return chosen;
}

const A_MODEL =
  "a model calls the tools, so what it adds or denies makes no rule; test/attack/teach-over-mcp.test.ts says what it does";
const CANNOT = {
  "a denial tells the model why, and changes the system prompt of the next session": A_MODEL,
  "a statement that a newer one contradicts names that one, until it is forgotten": A_MODEL,
  "appended messages teach the project only when a user wrote them": A_MODEL,
  "an entry of memory, a statement and a rule lead to the messages that they rest on, and these to them":
    A_MODEL,
  "a text that was added is corrected and pinned, says what it said before, and is forgotten with that":
    A_MODEL,
  "what the project knew at a time is listed and found as it was, with the rules that followed from it":
    A_MODEL,
  "a person keeps both of two entries, takes that back, and memory knows when, for messages, notes and knowledge":
    A_MODEL,
  "the knowledge of a project is taught, listed, read, edited, pinned, made rules of, and forgotten":
    A_MODEL,
};

describe("SessionService over MCP", () => {
  obey<OpenService>(sessionServiceLaws, [
    {
      name: "http, revision 2026-07-28",
      durable: true,
      part: PART_OF_SURFACE.mcp,
      cannot: CANNOT,
      open: async (place) => (setup) => overHttp(place, setup, "modern"),
    },
  ]);
  obey<OpenService>(lawsOf(/^build F|everything was closed|INTERRUPTED|any of them/, 0), [
    {
      name: "stdio",
      durable: true,
      cannot: LONG ? CANNOT : {},
      open: async (place) => (setup) => overStdio(place, setup),
    },
  ]);
  obey<OpenService>(lawsOf(/^build F|TURN_INTERRUPTED/, 1), [
    {
      name: "http, revision 2025-11-25",
      durable: true,
      cannot: LONG ? CANNOT : {},
      open: async (place) => (setup) => overHttp(place, setup, "legacy"),
    },
  ]);
});

describe("the contract over MCP", () =>
  contractTests((place, setup) => overHttp(place, setup, "modern"), { part: PART_OF_SURFACE.mcp }));

const WAYS = {
  stdio: overStdio,
  modern: (place: string, setup: ServiceSetup) => overHttp(place, setup, "modern"),
  legacy: (place: string, setup: ServiceSetup) => overHttp(place, setup, "legacy"),
} as const;
const ways = Object.entries(WAYS);

test.each(sampled(ways, { of: 3, at: 0 }))(
  "a conversation gives the same events as over the SDK, as they happen and in the log (%s)",
  (_, open) => expectSameEvents(open),
);

test("bad requests fail with the same codes as over the SDK", () => expectSameCodes(overStdio));

test.each(sampled(ways, { of: 3, at: 1 }))(
  "a subscriber sees what others do, from where it asks (%s)",
  async (_, open) => {
    const service = await open(await temporaryFolder(), { capabilities: [], replies: ["one"] });
    const { sessionId } = await service.createSession({});
    const opened = Promise.withResolvers<number>();
    const stop = new AbortController();
    const seen: EventEnvelope[] = [];
    const all = (async () => {
      const options = { signal: stop.signal, onOpen: opened.resolve };
      for await (const event of service.subscribe({ sessionId }, options)) seen.push(event);
    })();
    const from = await opened.promise;
    const told: EventEnvelope[] = [];
    await service.startTurn({ sessionId, prompt: "hi" }, { onEvent: (event) => told.push(event) });
    await expect.poll(() => seen.length).toBe(told.length);
    expect(seen).toEqual(told);
    expect(seen[0]?.seq).toBe(from + 1);
    stop.abort();
    await all;
  },
);

test("to subscribe to what there is not fails as it does over the SDK", () =>
  expectSameRefusals(overStdio));

test("a message names fields as over the SDK, and quotes the caller's text unchanged", () =>
  expectSameTexts(overStdio));

test.each(sampled(ways, { of: 3, at: 2 }))(
  "a turn that is cancelled is interrupted, and then it is over (%s)",
  async (_, open) => {
    const replies = [{ text: "never", delayMs: 60_000 }, "back"];
    const service = await open(await temporaryFolder(), { capabilities: EVERYTHING, replies });
    const { sessionId } = await service.createSession({});
    const cancel = new AbortController();
    const told: EventEnvelope[] = [];
    const turn = service.startTurn(
      { sessionId, prompt: "wait" },
      {
        signal: cancel.signal,
        onEvent(event) {
          told.push(event);
          cancel.abort();
        },
      },
    );
    expect((await failureOf(() => turn)).code).toBe("TURN_INTERRUPTED");
    expect(told.at(-1)?.payload.type).toBe("run_failed");
    expect((await service.startTurn({ sessionId, prompt: "go on" })).text).toBe("back");
  },
);

// Takes over two seconds: the server is a process, which is killed.
test.each(sampled(["modern", "legacy"] as const, { of: 2, at: 0 }, "crash points"))(
  "when the server is killed in a turn, the next one has everything that was told, and goes on (%s)",
  async (era) => {
    const place = await temporaryFolder();
    const call = { id: "c", name: "memory_search", args: { query: "fox" } };
    const never = { text: "never", delayMs: 60_000 };
    const server = await startHttp(place, {
      capabilities: EVERYTHING,
      replies: ["one", { text: "searching", toolCalls: [call] }, never],
    });
    const service = await connect({ url: server.url, era });
    const { sessionId } = await service.createSession({});
    const told: EventEnvelope[] = [];
    const onEvent = (event: EventEnvelope) => {
      told.push(event);
      if (event.payload.type === "tool_result_received") void server.stop("SIGKILL");
    };
    await service.startTurn({ sessionId, prompt: "first" }, { onEvent });
    const turn = service.startTurn({ sessionId, prompt: "second" }, { onEvent });
    expect((await failureOf(() => turn)).code).toBe("SERVICE_UNAVAILABLE");
    await server.stop("SIGKILL");

    const next = await overHttp(place, { capabilities: EVERYTHING, replies: ["back"] }, era);
    const durable = told.filter(({ payload }) => !payload.type.endsWith("_delta"));
    const from = durable[0]?.seq ?? 0;
    const last = durable.at(-1)?.seq ?? 0;
    expect(await eventsOf(next, sessionId, from - 1, last)).toEqual(durable);
    expect((await next.resume({ sessionId, prompt: "go on" })).text).toBe("back");
    const { seq } = await next.read({ sessionId });
    const all = await eventsOf(next, sessionId, 0, seq);
    expect(all.map((event) => event.seq)).toEqual(Array.from({ length: seq }, (_, at) => at + 1));
  },
);

test("several servers of one project work at once", async () => {
  const place = await temporaryFolder();
  const replies = ["The port is 7443.", "x"];
  const [one, two] = await Promise.all([
    overStdio(place, { capabilities: EVERYTHING, replies }),
    overHttp(place, { capabilities: EVERYTHING, replies }, "modern"),
  ]);
  const turn = async (service: SessionService, nth: number) => {
    const { sessionId } = await service.createSession({});
    // The same words of the same millisecond would be one message and its copy in a fork.
    await service.startTurn({ sessionId, prompt: `which port does staging ${nth} use?` });
    return sessionId;
  };
  const ids = await Promise.all([one, two, one, two].map(turn));
  for (const service of [one, two]) {
    expect((await service.list({})).map((session) => session.sessionId).sort()).toEqual(ids.sort());
    const hits = await service.searchHistory({ query: "staging port" });
    expect(new Set(hits.map((hit) => hit.sessionId))).toEqual(new Set(ids));
  }
});

async function connect(to: Parameters<typeof connectMcp>[0]): Promise<SessionService> {
  const service = await connectMcp(to);
  onTestFinished(() => service.close());
  return service;
}
