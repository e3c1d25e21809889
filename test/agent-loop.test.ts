import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import {
  type Compactor,
  createSessionService,
  defineTool,
  type EventEnvelope,
  type LanguageModel,
  type Message,
  type ModelRequest,
  type ServiceOptions,
  SessionError,
} from "../src/index.ts";
import { type ScriptedReply, scriptedModel } from "../src/testing.ts";

const NO_WAIT = { initialDelayMs: 1, maxDelayMs: 50 };

/** A service on ephemeral stores, one session in it, and what happens there. */
async function session(
  replies: readonly ScriptedReply[],
  options: Partial<ServiceOptions> & { readonly messages?: Message[] } = {},
) {
  const { messages, ...rest } = options;
  const model = scriptedModel(replies);
  const service = createSessionService({ model, retry: NO_WAIT, builtinTools: false, ...rest });
  const { sessionId } = await service.createSession(messages ? { messages } : {});
  const events: EventEnvelope["payload"][] = [];
  const onEvent = ({ payload }: EventEnvelope) => void events.push(payload);
  const say = (prompt: string, request: object = {}, signal?: AbortSignal) =>
    service.startTurn(
      { sessionId, prompt, ...request },
      { onEvent, ...(signal ? { signal } : {}) },
    );
  const types = () => events.map((event) => event.type).filter((type) => !type.endsWith("_delta"));
  return { service, sessionId, model, say, events, types };
}

function call(id: string, name: string, args: unknown = {}) {
  return { id, name, args };
}

function failure(afterMs?: number): SessionError {
  return new SessionError("PROVIDER_ERROR", {
    detail: "overloaded",
    retry: afterMs === undefined ? {} : { afterMs },
  });
}

test("tool calls run side by side and their results reach the model in call order", async () => {
  let running = 0;
  let most = 0;
  const slow = defineTool({
    name: "slow",
    description: "waits",
    input: z.object({ ms: z.number() }),
    async execute({ ms }) {
      running += 1;
      most = Math.max(most, running);
      await sleep(ms);
      running -= 1;
      return `waited ${ms}`;
    },
  });
  const calls = [call("a", "slow", { ms: 40 }), call("b", "slow", { ms: 5 })];
  const { model, say, types } = await session([{ toolCalls: calls }, "done"], { tools: [slow] });
  const result = await say("go");
  expect(result).toMatchObject({ text: "done", modelCalls: 2, toolCalls: 2 });
  expect(most).toBe(2);
  expect(model.requests[1]?.messages.at(-1)).toEqual({
    role: "tool_results",
    results: [
      { tool_use_id: "a", content: "waited 40", is_error: false },
      { tool_use_id: "b", content: "waited 5", is_error: false },
    ],
  });
  expect(types()).toEqual([
    "run_started",
    "turn_started",
    "tool_call_requested",
    "tool_call_requested",
    "turn_completed",
    "tool_execution_started",
    "tool_execution_started",
    "tool_execution_completed",
    "tool_execution_completed",
    "tool_result_received",
    "tool_result_received",
    "turn_started",
    "text_complete",
    "turn_completed",
    "run_completed",
  ]);
});

test("whatever goes wrong with a tool is a result that the model can read", async () => {
  const broken = defineTool({
    name: "broken",
    description: "throws",
    input: z.object({}),
    execute() {
      throw new Error("disk on fire");
    },
  });
  const picky = defineTool({
    name: "picky",
    description: "wants a number",
    input: z.object({ count: z.number() }),
    execute: ({ count }) => count,
  });
  const stuck = defineTool({
    name: "stuck",
    description: "never ends",
    input: z.object({}),
    timeoutMs: 20,
    execute: () => new Promise(() => {}),
  });
  const calls = [
    call("1", "broken"),
    call("2", "picky", "{not json"),
    call("3", "stuck"),
    call("4", "missing"),
  ];
  const { model, say, types } = await session([{ toolCalls: calls }, "I see"], {
    tools: [broken, picky, stuck],
  });
  expect((await say("go")).text).toBe("I see");
  const message = model.requests[1]?.messages.at(-1);
  const results = message?.role === "tool_results" ? message.results : [];
  expect(results.map((result) => [result.is_error, JSON.parse(result.content).error])).toEqual([
    [true, "execution_failed"],
    [true, "invalid_arguments"],
    [true, "timeout"],
    [true, "tool_not_found"],
  ]);
  expect(results[0]?.content).toContain("disk on fire");
  expect(types()).toContain("tool_execution_timed_out");
});

test("calls that come with the same id each get their own result", async () => {
  const echo = defineTool({
    name: "echo",
    description: "",
    input: z.object({ say: z.string() }),
    execute: ({ say }) => say,
  });
  const same = [call("0", "echo", { say: "one" }), call("0", "echo", { say: "two" })];
  const { say, model } = await session([{ toolCalls: same }, "heard"], { tools: [echo] });
  expect(await say("go")).toMatchObject({ text: "heard", toolCalls: 2 });
  const message = model.requests[1]?.messages.at(-1);
  const results = message?.role === "tool_results" ? message.results : [];
  expect(results.map((result) => result.content)).toEqual(["one", "two"]);
});

test("a provider that fails for a while is tried again, and each try is told", async () => {
  const { say, events } = await session([failure(), failure(3), "third time lucky"]);
  expect((await say("go")).text).toBe("third time lucky");
  const retries = events.filter((event) => event.type === "retrying");
  expect(retries).toMatchObject([
    { attempt: 1, max_attempts: 3 },
    { attempt: 2, max_attempts: 3, error: expect.stringContaining("overloaded") },
  ]);
  expect(retries[1]?.delay_ms).toBeGreaterThanOrEqual(3);
});

test("a failure that another try will not mend is not tried again", async () => {
  const { say, model } = await session([new SessionError("PROVIDER_ERROR"), "never"]);
  await expect(say("go")).rejects.toMatchObject({ code: "PROVIDER_ERROR" });
  expect(model.requests).toHaveLength(1);
});

test("a provider that asks for more patience than is allowed fails at once", async () => {
  const { say, model } = await session([failure(60_000), "never"]);
  await expect(say("go")).rejects.toMatchObject({ code: "PROVIDER_ERROR" });
  expect(model.requests).toHaveLength(1);
});

test("a turn ends at its limit of model calls", async () => {
  const again = { toolCalls: [call("x", "missing")] };
  const { say } = await session([again, again, again, again]);
  const result = await say("go", { budget: { maxModelCalls: 3 } });
  expect(result).toMatchObject({ stopReason: "turn_limit", modelCalls: 3 });
});

test("tool calls beyond the budget are refused, and the turn ends with what it has", async () => {
  const tool = defineTool({
    name: "t",
    description: "",
    input: z.object({}),
    execute: () => "ran",
  });
  const calls = [call("1", "t"), call("2", "t"), call("3", "t")];
  const replies = [{ text: "let me look", toolCalls: calls }, "never"];
  const { say, events } = await session(replies, { tools: [tool] });
  const result = await say("go", { budget: { maxToolCalls: 2 } });
  expect(result).toMatchObject({
    text: "let me look",
    stopReason: "budget_exhausted",
    toolCalls: 2,
  });
  const done = events.filter((event) => event.type === "tool_execution_completed");
  expect(done.map((event) => event.is_error).sort()).toEqual([false, false, true]);
  expect(events).toContainEqual({
    type: "budget_warning",
    budget_type: "tool_calls",
    used: 2,
    limit: 2,
    percent: 1,
  });
});

test("tokens beyond the budget end the turn, after a warning at four fifths", async () => {
  const usage = { input_tokens: 40, output_tokens: 5 };
  const again = { toolCalls: [call("x", "missing")], usage };
  const { say, events } = await session([again, again, again]);
  const result = await say("go", { budget: { maxTotalTokens: 100 } });
  expect(result).toMatchObject({ stopReason: "budget_exhausted", modelCalls: 3 });
  const warnings = events.filter((event) => event.type === "budget_warning");
  expect(warnings.map((event) => event.used)).toEqual([90, 135]);
});

test("time beyond the budget ends a turn in the middle of a call, in good order", async () => {
  const { say, types } = await session([{ text: "late", delayMs: 60_000 }, "next"]);
  const result = await say("go", { budget: { maxDurationMs: 30 } });
  expect(result.stopReason).toBe("budget_exhausted");
  expect(types().slice(-2)).toEqual(["budget_warning", "run_completed"]);
  expect((await say("again")).text).toBe("next");
});

test("what was said until the time was up is the result, and the next request has it", async () => {
  const asked: ModelRequest[] = [];
  const model: LanguageModel = {
    id: "test/slow",
    async *stream(request) {
      asked.push(request);
      yield { type: "text_delta", delta: "Half an answer" };
      const { signal } = request;
      if (!signal.aborted) await once(signal, "abort");
      signal.throwIfAborted();
    },
  };
  const { say, types } = await session([], { model });
  const result = await say("go", { budget: { maxDurationMs: 30 } });
  expect(result).toMatchObject({ stopReason: "budget_exhausted", text: "Half an answer" });
  expect(types()).toContain("text_complete");
  await say("again", { budget: { maxDurationMs: 30 } });
  expect(JSON.stringify(asked.at(-1)?.messages)).toContain("Half an answer");
});

test("a turn that is refused for its prompt leaves no timer that keeps the process alive", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { service, say } = await session([], {
    compaction: { autoCompactThreshold: 1 },
    messages: [{ role: "system", content: "Answer in English." }],
  });
  const refused = say("go", { budget: { maxDurationMs: 3_600_000 } });
  await expect(refused).rejects.toMatchObject({ code: "PROMPT_EXCEEDS_THRESHOLD" });
  await service.close();
  expect(vi.getTimerCount()).toBe(0);
});

test("a paused answer is let go on, without a word in between", async () => {
  const { say, model } = await session([
    { text: "first half", stopReason: "pause_turn" },
    "second",
  ]);
  expect(await say("go")).toMatchObject({ text: "second", modelCalls: 2 });
  expect(model.requests[1]?.messages.map((message) => message.role)).toEqual([
    "user",
    "block_assistant",
  ]);
});

test("an interruption stops tools too, closes their calls and keeps what was said", async () => {
  let aborted = false;
  const begun = Promise.withResolvers<void>();
  const stuck = defineTool({
    name: "stuck",
    description: "waits for the end",
    input: z.object({}),
    execute: (_, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          aborted = true;
          reject(signal.reason);
        });
        begun.resolve();
      }),
  });
  const replies = [{ text: "looking", toolCalls: [call("1", "stuck")] }, "hello again"];
  const { say, model, types } = await session(replies, { tools: [stuck] });
  const stop = new AbortController();
  const turn = say("go", {}, stop.signal);
  await begun.promise;
  stop.abort();
  await expect(turn).rejects.toMatchObject({ code: "TURN_INTERRUPTED" });
  expect(aborted).toBe(true);
  expect(types().slice(-2)).toEqual(["tool_execution_completed", "run_failed"]);
  expect((await say("still there?")).text).toBe("hello again");
  expect(model.requests[1]?.messages.map((message) => message.role)).toEqual([
    "user",
    "block_assistant",
    "tool_results",
    "user",
  ]);
});

test("when the provider calls the history too long, it is compacted and tried once more", async () => {
  const long = "many words about nothing in particular ".repeat(40);
  const tooLong = new SessionError("CONTEXT_WINDOW_EXCEEDED");
  const replies = [long, long, long, tooLong, "The summary.", "it fits now"];
  const { say, types } = await session(replies, { compaction: {} });
  for (const prompt of ["one", "two", "three"]) await say(prompt);
  expect((await say("four")).text).toBe("it fits now");
  expect(types().filter((type) => type.startsWith("compaction"))).toEqual([
    "compaction_started",
    "compaction_completed",
  ]);
});

test("when compaction cannot help, the provider's refusal is the answer", async () => {
  const { say } = await session([new SessionError("CONTEXT_WINDOW_EXCEEDED")], { compaction: {} });
  await expect(say("short")).rejects.toMatchObject({ code: "CONTEXT_WINDOW_EXCEEDED" });
});

test("a system prompt and tools beyond the threshold are refused by name, not looped over", async () => {
  const messages: Message[] = [{ role: "system", content: "rules ".repeat(400) }];
  const compaction = { autoCompactThreshold: 500 };
  const { say, model } = await session([], { compaction, messages });
  const error = await say("hi").catch((thrown) => thrown);
  expect(error).toMatchObject({ code: "PROMPT_EXCEEDS_THRESHOLD" });
  expect(error.message).toMatch(/about 6\d\d tokens .* auto_compact_threshold is 500/);
  expect(model.requests).toHaveLength(0);
});

test("the loop guard lets other calls pass between two compactions", async () => {
  const long = "words and more words to fill the window with ".repeat(30);
  const replies = Array.from({ length: 40 }, () => long);
  const compaction = { autoCompactThreshold: 1200, minTurnsBetweenCompactions: 3 };
  const { say, events } = await session(replies, {
    compaction: { ...compaction, maxSummaryTokens: 50 },
  });
  for (let turn = 0; turn < 12; turn += 1) await say(`turn ${turn}`);
  const marks = events.flatMap((event) =>
    event.type === "turn_completed"
      ? ["call"]
      : event.type === "compaction_completed"
        ? ["compaction"]
        : [],
  );
  const places = marks.flatMap((mark, index) => (mark === "compaction" ? [index] : []));
  expect(places.length).toBeGreaterThan(1);
  for (const [index, place] of places.entries()) {
    if (index > 0) expect(place - (places[index - 1] ?? 0)).toBeGreaterThanOrEqual(4);
  }
});

test("the specification's compactor is an object with four methods, and each time it is due something leaves", async () => {
  let due = 0;
  const compactor: Compactor = {
    shouldCompact: ({ estimatedHistoryTokens }) => {
      if (estimatedHistoryTokens < 600) return false;
      due += 1;
      return true;
    },
    compactionPrompt: () => "Summarise!",
    maxSummaryTokens: () => 100,
    rebuildHistory: (messages, summary) => ({
      messages: [{ role: "user", content: summary }, ...messages.slice(-1)],
      discarded: messages.slice(0, -1),
    }),
  };
  const compacted: number[] = [];
  const service = createSessionService({
    model: scriptedModel((request) =>
      JSON.stringify(request.messages).includes("Summarise!")
        ? "The user counts and the model answers at length."
        : `A long answer. ${"It goes on and on. ".repeat(60)}`,
    ),
    compaction: { compactor },
  });
  const { sessionId } = await service.createSession({});
  for (let turn = 0; turn < 8; turn += 1) {
    await service.startTurn(
      { sessionId, prompt: `Count to ${turn}.` },
      {
        onEvent: ({ payload }) => {
          if (payload.type === "compaction_completed") compacted.push(payload.discarded_messages);
        },
      },
    );
  }
  expect(due).toBeGreaterThan(1);
  expect(compacted).toHaveLength(due);
  expect(Math.min(...compacted)).toBeGreaterThan(0);
  await service.close();
});

test("an unknown compaction setting and a compactor that lacks a method are refused at once", () => {
  const create = (compaction: object) => () =>
    createSessionService({ model: scriptedModel([]), compaction });
  expect(create({ autoCompactTreshold: 5 })).toThrow(
    "compaction.autoCompactTreshold: this option does not exist. Did you mean autoCompactThreshold?",
  );
  expect(create({ compactor: { shouldCompact: () => true } })).toThrow(
    "compactor lacks compactionPrompt(), maxSummaryTokens(), rebuildHistory().",
  );
});

test("old tool output is pruned before anything is summarised, and stays findable", async () => {
  const dump = `${"line of a long listing\n".repeat(150)}needle-in-output\n${"line of a long listing\n".repeat(150)}`;
  const read = defineTool({
    name: "read",
    description: "",
    input: z.object({}),
    execute: () => dump,
  });
  const use = (id: string) => ({ toolCalls: [call(id, "read")] });
  const replies = [use("1"), use("2"), use("3"), use("4"), use("5"), "done", "yes"];
  const { service, say, model, types } = await session(replies, {
    tools: [read],
    compaction: { autoCompactThreshold: 6_000 },
  });
  await say("read it a few times");
  await say("and?");
  expect(types()).toContain("tool_output_pruned");
  expect(types()).not.toContain("compaction_started");
  const sent = JSON.stringify(model.requests.at(-1)?.messages);
  expect(sent).toContain("bytes of old tool output of turn 0 pruned]");
  await service.close();
});
