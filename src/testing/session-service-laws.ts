import assert from "node:assert/strict";
import type { Capability } from "../core/capabilities.ts";
import type { CompactionConfig } from "../core/compactor.ts";
import { type ErrorCode, SessionError } from "../core/errors.ts";
import type { EventEnvelope } from "../core/event.ts";
import { toolResults, toolUses } from "../core/message.ts";
import type { SessionService } from "../core/session-service.ts";
import type { Law } from "./law.ts";
import type { ScriptedReply } from "./scripted-model.ts";

/** What a service under test is made of; plain data, so that it can be made in another process. */
export interface ServiceSetup {
  readonly capabilities: readonly Capability[];
  /** What the model answers, call by call; "ok" when they have run out. */
  readonly replies?: readonly ScriptedReply[];
  readonly compaction?: Partial<CompactionConfig>;
}

/** Makes a service. In one place, services with `session-store` share their stores. */
export type OpenService = (setup: ServiceSetup) => Promise<SessionService>;

/** The six builds of the specification. */
export const BUILDS: Readonly<Record<string, readonly Capability[]>> = {
  A: [],
  B: ["session-store"],
  C: ["memory-store"],
  D: ["session-compaction"],
  E: ["session-store", "memory-store"],
  F: ["session-store", "memory-store", "session-compaction"],
};

const EVERYTHING = BUILDS.F ?? [];
/** Leaves room for the tools, the skill and about one long answer. */
const EAGER = { autoCompactThreshold: 2500, minTurnsBetweenCompactions: 1, maxSummaryTokens: 64 };
const LONG = "The quick brown fox considers the merits of jumping over the lazy dog. ".repeat(80);

export const sessionServiceLaws: readonly Law<OpenService>[] = [
  ...Object.entries(BUILDS).map(
    ([build, capabilities]): Law<OpenService> => ({
      name: `build ${build}: creating a session and running a turn work, and tell what happens`,
      async holds(open) {
        const service = await (await open())({ capabilities, replies: ["hello"] });
        const { sessionId } = await service.createSession({});
        const seen: string[] = [];
        const turn = await service.startTurn(
          { sessionId, prompt: "hi" },
          { onEvent: ({ payload }) => seen.push(payload.type) },
        );
        assert.equal(turn.text, "hello");
        assert.equal(turn.stopReason, "end_turn");
        assert.deepEqual(
          seen.filter((type) => type !== "text_delta"),
          ["run_started", "turn_started", "text_complete", "turn_completed", "run_completed"],
        );
        assert.deepEqual([...(await service.capabilities())].sort(), [...capabilities].sort());
      },
    }),
  ),
  {
    name: "without a session store, lookups are SESSION_PERSISTENCE_DISABLED",
    async holds(open) {
      const service = await (await open())({ capabilities: ["memory-store"] });
      const { sessionId } = await service.createSession({});
      const lookups = [
        () => service.resume({ sessionId, prompt: "hi" }),
        () => service.read({ sessionId }),
        () => service.list({}),
        () => service.archive({ sessionId }),
        () => service.delete({ sessionId }),
        () => service.searchHistory({ query: "hi" }),
      ];
      for (const lookup of lookups) await assertCode(lookup(), "SESSION_PERSISTENCE_DISABLED");
    },
  },
  {
    name: "without a memory store, memory is SESSION_MEMORY_DISABLED",
    async holds(open) {
      const service = await (await open())({ capabilities: ["session-store"] });
      await assertCode(service.searchMemory({ query: "fox" }), "SESSION_MEMORY_DISABLED");
      await assertCode(service.createSession({ memory: true }), "SESSION_MEMORY_DISABLED");
    },
  },
  {
    name: "without compaction, asking for it is SESSION_COMPACTION_DISABLED",
    async holds(open) {
      const service = await (await open())({ capabilities: ["session-store", "memory-store"] });
      const { sessionId } = await service.createSession({});
      const compaction = { recentTurnBudget: 2 };
      await assertCode(service.createSession({ compaction }), "SESSION_COMPACTION_DISABLED");
      await assertCode(
        service.startTurn({ sessionId, prompt: "hi", compaction }),
        "SESSION_COMPACTION_DISABLED",
      );
      await assertCode(service.compact({ sessionId }), "SESSION_COMPACTION_DISABLED");
    },
  },
  {
    name: "a session is resumed, listed and archived after everything was closed",
    durable: true,
    async holds(open) {
      const first = await (await open())({ capabilities: EVERYTHING, replies: ["one"] });
      const { sessionId } = await first.createSession({ labels: { env: "test" } });
      await first.startTurn({ sessionId, prompt: "first" });
      await first.close();

      const second = await (await open())({ capabilities: EVERYTHING, replies: ["two"] });
      const listed = await second.list({ labels: { env: "test" } });
      assert.deepEqual(
        listed.map((row) => [row.sessionId, row.turns, row.messageCount]),
        [[sessionId, 1, 3]],
      );
      const turn = await second.resume({ sessionId, prompt: "second" });
      assert.equal(turn.text, "two");
      const { history } = await second.read({ sessionId });
      assert.deepEqual(
        history.map(({ message }) => message.role),
        ["system", "user", "block_assistant", "user", "block_assistant"],
      );
      await second.archive({ sessionId });
      assert.deepEqual(await second.list({}), []);
      assert.equal((await second.list({ includeArchived: true })).length, 1);
      await assertCode(second.startTurn({ sessionId, prompt: "third" }), "SESSION_NOT_FOUND");
    },
  },
  {
    name: "a deleted session is gone from every lookup",
    durable: true,
    async holds(open) {
      const service = await (await open())({ capabilities: EVERYTHING, replies: ["zebra"] });
      const { sessionId } = await service.createSession({});
      await service.startTurn({ sessionId, prompt: "a giraffe" });
      await service.delete({ sessionId });
      await assertCode(service.read({ sessionId }), "SESSION_NOT_FOUND");
      assert.deepEqual(await service.list({ includeArchived: true }), []);
      assert.deepEqual(await service.searchHistory({ query: "giraffe" }), []);
    },
  },
  {
    name: "a bad request is INVALID_PARAMS, and the message names the field",
    async holds(open) {
      const service = await (await open())({ capabilities: EVERYTHING });
      const { sessionId } = await service.createSession({});
      const bad: readonly [string, () => Promise<unknown>][] = [
        ["prompt", () => service.startTurn({ sessionId, prompt: "" })],
        ["prompt", () => service.startTurn({ sessionId } as never)],
        ["sessionId", () => service.startTurn({ prompt: "hi" } as never)],
        ["maxTokens", () => service.startTurn({ sessionId, prompt: "hi", maxTokens: 0 })],
        [
          "maxToolCalls",
          () => service.startTurn({ sessionId, prompt: "hi", budget: { maxToolCalls: -1 } }),
        ],
        ["colour", () => service.startTurn({ sessionId, prompt: "hi", colour: "red" } as never)],
        ["recentTurnBudget", () => service.createSession({ compaction: { recentTurnBudget: 0 } })],
        ["labels", () => service.createSession({ labels: { a: 1 } } as never)],
        ["messages", () => service.createSession({ messages: [{ role: "nobody" }] } as never)],
        ["limit", () => service.list({ limit: -1 })],
        ["since", () => service.searchHistory({ query: "fox", since: "yesterday" })],
        ["minScore", () => service.searchMemory({ query: "fox", minScore: 2 })],
      ];
      for (const [field, request] of bad) {
        const error = await assertCode(request(), "INVALID_PARAMS");
        assert.match(error.message, new RegExp(field));
      }
    },
  },
  {
    name: "an unknown session is SESSION_NOT_FOUND",
    async holds(open) {
      const service = await (await open())({ capabilities: EVERYTHING });
      const sessionId = "019467d9-7e3a-7000-8000-000000000000";
      const requests = [
        () => service.startTurn({ sessionId, prompt: "hi" }),
        () => service.resume({ sessionId, prompt: "hi" }),
        () => service.read({ sessionId }),
        () => service.archive({ sessionId }),
        () => service.delete({ sessionId }),
        () => service.compact({ sessionId }),
        () => service.interrupt({ sessionId }),
      ];
      for (const request of requests) await assertCode(request(), "SESSION_NOT_FOUND");
    },
  },
  {
    name: "a second turn in a running session is SESSION_BUSY, and the first one does not notice",
    async holds(open) {
      const replies = [{ text: "slow", delayMs: 100 }];
      const service = await (await open())({ capabilities: EVERYTHING, replies });
      const { sessionId } = await service.createSession({});
      const first = service.startTurn({ sessionId, prompt: "one" });
      await assertCode(startedAfterwards(), "SESSION_BUSY");
      assert.equal((await first).text, "slow");
      assert.equal((await service.startTurn({ sessionId, prompt: "three" })).text, "ok");

      async function startedAfterwards() {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return await service.startTurn({ sessionId, prompt: "two" });
      }
    },
  },
  {
    name: "an interrupted turn is TURN_INTERRUPTED, and the next one goes on",
    async holds(open) {
      const replies = [{ text: "never", delayMs: 60_000 }, "back again"];
      const service = await (await open())({ capabilities: EVERYTHING, replies });
      const { sessionId } = await service.createSession({});
      await assertCode(service.interrupt({ sessionId }), "SESSION_NOT_RUNNING");
      const turn = service.startTurn({ sessionId, prompt: "wait" });
      await new Promise((resolve) => setTimeout(resolve, 30));
      await service.interrupt({ sessionId });
      await assertCode(turn, "TURN_INTERRUPTED");
      assert.equal((await service.startTurn({ sessionId, prompt: "go on" })).text, "back again");
    },
  },
  {
    name: "a turn that fails says so in the log and leaves every call with its result",
    async holds(open) {
      const call = { id: "c1", name: "datetime", args: {} };
      const replies = [{ toolCalls: [call] }, { error: "PROVIDER_ERROR" as const }, "fine"];
      const service = await (await open())({ capabilities: EVERYTHING, replies });
      const { sessionId } = await service.createSession({});
      const seen: EventEnvelope[] = [];
      await assertCode(
        service.startTurn({ sessionId, prompt: "go" }, { onEvent: (event) => seen.push(event) }),
        "PROVIDER_ERROR",
      );
      const last = seen.at(-1)?.payload;
      assert.equal(last?.type === "run_failed" && last.code, "PROVIDER_ERROR");
      assert.equal((await service.startTurn({ sessionId, prompt: "again" })).text, "fine");
      await assertWholeCalls(service, sessionId);
    },
  },
  {
    name: "events have consecutive numbers, and a subscriber can have them again from any of them",
    async holds(open) {
      const service = await (await open())({ capabilities: EVERYTHING, replies: ["one", "two"] });
      const { sessionId } = await service.createSession({});
      const seen: EventEnvelope[] = [];
      const onEvent = (event: EventEnvelope) => void seen.push(event);
      await service.startTurn({ sessionId, prompt: "a" }, { onEvent });
      await service.startTurn({ sessionId, prompt: "b" }, { onEvent });
      const durable = seen.filter(({ payload }) => !payload.type.endsWith("_delta"));
      const first = durable[0]?.seq ?? 0;
      assert.deepEqual(
        durable.map(({ seq }) => seq),
        durable.map((_, index) => first + index),
      );
      assert.deepEqual(
        await replay(service, sessionId, first + 1, durable.length - 2),
        durable.slice(2),
      );
    },
  },
  {
    name: "compaction comes at the threshold, tells of it in order, and the answer is the same",
    async holds(open) {
      const setup = { capabilities: EVERYTHING, compaction: EAGER };
      const service = await (await open())({
        ...setup,
        replies: [LONG, LONG, "The summary.", "done"],
      });
      const { sessionId } = await service.createSession({ memory: false });
      const seen: string[] = [];
      const onEvent = ({ payload }: EventEnvelope) => void seen.push(payload.type);
      await service.startTurn({ sessionId, prompt: "one" }, { onEvent });
      assert.ok(!seen.includes("compaction_started"), "call 0 never compacts");
      await service.startTurn({ sessionId, prompt: "two" }, { onEvent });
      const third = await service.startTurn({ sessionId, prompt: "three" }, { onEvent });
      assert.equal(third.text, "done");
      assert.deepEqual(
        seen.filter((type) => type.startsWith("compaction")),
        ["compaction_started", "compaction_completed"],
      );
      const { history } = await service.read({ sessionId });
      const summary = history.find(({ message }) => message.role === "user" && message.kind);
      assert.match(JSON.stringify(summary?.message), /\[Context compacted\].*The summary\./);
    },
  },
  {
    name: "below the threshold nothing is compacted",
    async holds(open) {
      const setup = { capabilities: EVERYTHING, compaction: { autoCompactThreshold: 50_000 } };
      const service = await (await open())(setup);
      const { sessionId } = await service.createSession({});
      const seen: string[] = [];
      for (const prompt of ["one", "two", "three", "four", "five"]) {
        await service.startTurn(
          { sessionId, prompt },
          { onEvent: ({ payload }) => seen.push(payload.type) },
        );
      }
      assert.deepEqual(
        seen.filter((type) => type.startsWith("compaction")),
        [],
      );
    },
  },
  {
    name: "a compaction that fails is told, changes nothing, and the turn goes on",
    async holds(open) {
      const replies = [LONG, LONG, { error: "PROVIDER_ERROR" as const }, "still here"];
      const service = await (await open())({
        capabilities: EVERYTHING,
        compaction: EAGER,
        replies,
      });
      const { sessionId } = await service.createSession({ memory: false });
      await service.startTurn({ sessionId, prompt: "one" });
      await service.startTurn({ sessionId, prompt: "two" });
      const seen: string[] = [];
      const turn = await service.startTurn(
        { sessionId, prompt: "three" },
        { onEvent: ({ payload }) => seen.push(payload.type) },
      );
      assert.equal(turn.text, "still here");
      assert.deepEqual(
        seen.filter((type) => type.startsWith("compaction")),
        ["compaction_started", "compaction_failed"],
      );
      assert.equal((await service.read({ sessionId })).history.length, 6);
    },
  },
  {
    name: "what compaction discarded is found in memory, from any session of the project",
    async holds(open) {
      const replies = [`The staging port is 7443. ${LONG}`, LONG, "The summary.", "done"];
      const service = await (await open())({
        capabilities: EVERYTHING,
        compaction: EAGER,
        replies,
      });
      const { sessionId } = await service.createSession({});
      for (const prompt of ["which port does staging use?", "two", "three"]) {
        await service.startTurn({ sessionId, prompt });
      }
      const hits = await service.searchMemory({ query: "staging port" });
      const found = hits.find((hit) => hit.content.includes("7443"));
      assert.equal(found?.sessionId, sessionId);
      assert.equal(found?.turn, 0);
      assert.ok(found.score > 0 && found.score <= 1);
    },
  },
  {
    name: "compaction by hand keeps the recent turns, and doing it again does nothing",
    async holds(open) {
      const replies = ["a1", "a2", "a3", "Summary by hand."];
      const compaction = { recentTurnBudget: 1 };
      const service = await (await open())({ capabilities: EVERYTHING, compaction, replies });
      const { sessionId } = await service.createSession({ memory: false });
      for (const prompt of [LONG, LONG, "the last one"]) {
        await service.startTurn({ sessionId, prompt });
      }
      const first = await service.compact({ sessionId, instructions: "Keep the fox." });
      assert.ok(first.compacted);
      assert.equal(first.discardedMessages, 4);
      assert.equal((await service.compact({ sessionId })).compacted, false);
    },
  },
];

async function assertCode(promise: Promise<unknown>, code: ErrorCode): Promise<SessionError> {
  try {
    await promise;
  } catch (error) {
    assert.ok(SessionError.is(error), `not a SessionError: ${error}`);
    assert.equal(error.code, code);
    return error;
  }
  return assert.fail(`nothing was thrown where ${code} was expected`);
}

async function assertWholeCalls(service: SessionService, sessionId: string): Promise<void> {
  const { history } = await service.read({ sessionId });
  const calls = history.flatMap(({ message }) => toolUses(message).map((call) => call.id));
  const results = history.flatMap(({ message }) =>
    toolResults(message).map((result) => result.tool_use_id),
  );
  assert.deepEqual(results, calls);
}

/** The first `count` events after `afterSeq`. */
async function replay(
  service: SessionService,
  sessionId: string,
  afterSeq: number,
  count: number,
): Promise<EventEnvelope[]> {
  const events: EventEnvelope[] = [];
  const stop = new AbortController();
  for await (const event of service.subscribe({ sessionId, afterSeq }, { signal: stop.signal })) {
    events.push(event);
    if (events.length === count) stop.abort();
  }
  return events;
}
