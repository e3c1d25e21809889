import { readFileSync, symlinkSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { context, metrics, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { whenWatched } from "../src/core/traces.ts";
import {
  createHistoryWindow,
  createSessionService,
  defineTool,
  type LanguageModel,
  type ServiceOptions,
} from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing.ts";
import { openTelemetry } from "../src/traces/open-telemetry.ts";
import { IMPORTS_BUILT_PACKAGE } from "./support/built-package.ts";
import { messageView } from "./support/message-view.ts";
import { providerForTest } from "./support/provider-for-test.ts";
import { Project } from "./support/rkat-process.ts";
import { spawnSync } from "./support/start-process.ts";

const SECRET = "the vault opens with tangerine";

let spans: InMemorySpanExporter;
let metricReader: PeriodicExportingMetricReader;
let metricExporter: InMemoryMetricExporter;

/** What a program does that is watched. */
function watch(): void {
  spans = new InMemorySpanExporter();
  metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  metricReader = new PeriodicExportingMetricReader({ exporter: metricExporter });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(
    new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] }),
  );
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [metricReader] }));
}

beforeEach(watch);

afterEach(async () => {
  await metricReader.shutdown();
  for (const api of [trace, metrics, context]) api.disable();
});

const shell = defineTool({
  name: "shell",
  description: "Runs a command.",
  input: z.object({ command: z.string() }),
  execute({ command }) {
    if (command === "fail") throw new Error(SECRET);
    trace.getTracer("mine").startSpan("my own").end();
    return `ran: ${SECRET}`;
  },
});

function newService(options: Partial<ServiceOptions> = {}) {
  const stores = sqliteStores({ path: ":memory:" });
  const service = createSessionService({
    model: scriptedModel(({ messages }) => {
      const said = JSON.stringify(messages.at(-1));
      if (said.includes("tool_results")) return "done";
      const command = /(run|fail) it/.exec(said)?.[1];
      if (command !== undefined)
        return { toolCalls: [{ id: "call-1", name: "shell", args: { command } }] };
      return `Noted: ${SECRET}. ${"The fox considers jumping. ".repeat(60)}`;
    }),
    stores,
    tools: [shell],
    compaction: { autoCompactThreshold: 1500, minTurnsBetweenCompactions: 1, maxSummaryTokens: 64 },
    ...options,
  });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  return service;
}

const named = (name: string) => spans.getFinishedSpans().filter((span) => span.name === name);

const isIn = (span: ReadableSpan | undefined, parent: ReadableSpan | undefined) =>
  span !== undefined && span.parentSpanContext?.spanId === parent?.spanContext().spanId;

test("a turn, its model calls and its tools are spans in each other, by the conventions", async () => {
  const service = newService();
  const { sessionId } = await service.createSession({});
  const tracer = trace.getTracer("mine");
  await tracer.startActiveSpan("request", async (request) => {
    await service.startTurn({ sessionId, prompt: "run it" });
    request.end();
  });
  const [request] = named("request");
  const [turn] = named("invoke_agent rkat");
  const chats = named("chat model");
  const [tool] = named("execute_tool shell");
  expect(isIn(turn, request)).toBe(true);
  expect(chats.map((chat) => isIn(chat, turn))).toEqual([true, true]);
  expect(isIn(tool, turn)).toBe(true);
  // What the tool itself shows is inside of it.
  expect(isIn(named("my own")[0], tool)).toBe(true);
  expect(turn?.attributes).toMatchObject({
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "rkat",
    "gen_ai.conversation.id": sessionId,
    "rkat.turn.model_calls": 2,
    "rkat.turn.tool_calls": 1,
    "rkat.turn.stop_reason": "end_turn",
  });
  expect(chats[0]?.kind).toBe(SpanKind.CLIENT);
  expect(chats[0]?.attributes).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.conversation.id": sessionId,
    "gen_ai.provider.name": "scripted",
    "gen_ai.request.model": "model",
    "gen_ai.response.finish_reasons": ["tool_use"],
    "gen_ai.usage.input_tokens": expect.any(Number),
    "gen_ai.usage.output_tokens": expect.any(Number),
  });
  expect(tool?.attributes).toMatchObject({
    "gen_ai.tool.name": "shell",
    "gen_ai.tool.call.id": "call-1",
    "gen_ai.tool.type": "function",
  });
});

test("a compaction shows its tokens before and after, with the model call for its summary; a search and a recall are spans", async () => {
  const service = newService();
  const { sessionId } = await service.createSession({});
  for (const prompt of ["one", "two", "three", "four tangerine"]) {
    await service.startTurn({ sessionId, prompt });
  }
  await service.searchMemory({ query: "fox" });
  await service.searchHistory({ query: "fox" });
  const compaction = named("rkat.compact").find(
    ({ attributes }) => attributes["rkat.compaction.outcome"] === "compaction_completed",
  );
  const events = await service.readLog({ sessionId, limit: 500 });
  const logged = events.events
    .map(({ payload }) => payload)
    .find(({ type }) => type === "compaction_completed");
  expect(logged).toMatchObject({
    tokens_before: compaction?.attributes["rkat.compaction.tokens_before"],
    tokens_after: compaction?.attributes["rkat.compaction.tokens_after"],
  });
  expect(named("chat model").some((chat) => isIn(chat, compaction))).toBe(true);
  expect(named("search_memory")[0]?.attributes["rkat.search.results"]).toBeGreaterThan(0);
  expect(named("rkat.search_history")[0]?.attributes["rkat.search.results"]).toBeGreaterThan(0);
  expect(named("rkat.recall")[0]?.attributes).toHaveProperty(["rkat.recall.records"]);
});

test("work is done once, and its result or its error is the caller's, whatever watches", async () => {
  const failure = new Error("it failed");
  const none = () => {
    for (const api of [trace, metrics, context]) api.disable();
  };
  for (const prepare of [watch, none]) {
    prepare();
    let times = 0;
    const start = { operation: "search_memory" } as const;
    const traces = whenWatched(openTelemetry);
    expect(await traces.span(start, async () => ++times)).toBe(1);
    await expect(traces.span(start, () => Promise.reject(failure))).rejects.toBe(failure);
    expect(times).toBe(1);
  }
});

test("how long calls take and what they read and write are metrics", async () => {
  const service = newService();
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "run it" });
  await metricReader.forceFlush();
  const all = metricExporter
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics)
    .flatMap((scope) => scope.metrics);
  const names = new Set(all.map(({ descriptor }) => descriptor.name));
  for (const name of [
    "gen_ai.client.operation.duration",
    "gen_ai.client.token.usage",
    "gen_ai.execute_tool.duration",
    "rkat.turn.duration",
  ]) {
    expect(names).toContain(name);
  }
  const tokens = all.find(({ descriptor }) => descriptor.name === "gen_ai.client.token.usage");
  const types = tokens?.dataPoints.map(({ attributes }) => attributes["gen_ai.token.type"]);
  expect(new Set(types)).toEqual(new Set(["input", "output"]));
  // No metric has a value for each session.
  expect(JSON.stringify(all)).not.toContain(sessionId);
});

test("nothing of what was said is shown, not in failures either", async () => {
  const service = newService();
  const { sessionId } = await service.createSession({ systemPrompt: SECRET });
  for (const prompt of [`run it: ${SECRET}`, `fail it: ${SECRET}`, SECRET]) {
    await service.startTurn({ sessionId, prompt });
  }
  await service.searchMemory({ query: SECRET });
  const shown = spans.getFinishedSpans().map(({ name, attributes, events, status, links }) => ({
    name,
    attributes,
    events,
    status,
    links,
  }));
  expect(JSON.stringify(shown)).not.toContain("tangerine");
  const failed = named("execute_tool shell").find(
    ({ status }) => status.code === SpanStatusCode.ERROR,
  );
  expect(failed?.attributes["error.type"]).toBe("tool_error");
});

test("contents are shown when they are asked for", async () => {
  const service = newService({ traces: { contents: true } });
  const { sessionId } = await service.createSession({ systemPrompt: "Be brief." });
  await service.startTurn({ sessionId, prompt: "run it" });
  await service.searchMemory({ query: "which vault" });
  const [first, last] = named("chat model");
  const input = JSON.parse(String(first?.attributes["gen_ai.input.messages"])) as unknown;
  expect(input).toEqual([{ role: "user", parts: [{ type: "text", content: "run it" }] }]);
  expect(first?.attributes["gen_ai.system_instructions"]).toContain("Be brief.");
  expect(first?.attributes["gen_ai.output.messages"]).toContain('"type":"tool_call"');
  expect(last?.attributes["gen_ai.input.messages"]).toContain("tool_call_response");
  expect(named("execute_tool shell")[0]?.attributes).toMatchObject({
    "gen_ai.tool.call.arguments": '{"command":"run"}',
    "gen_ai.tool.call.result": `ran: ${SECRET}`,
  });
  expect(named("search_memory")[0]?.attributes["gen_ai.memory.query.text"]).toBe("which vault");
});

test("a call that fails is an error with its code, and the turn too", async () => {
  const failing: LanguageModel = {
    id: "anthropic/claude-test",
    // biome-ignore lint/correctness/useYield: it fails before.
    async *stream() {
      throw new Error(SECRET);
    },
  };
  const service = newService({ model: failing, retry: { maxRetries: 0 } });
  const { sessionId } = await service.createSession({});
  await expect(service.startTurn({ sessionId, prompt: "hi" })).rejects.toThrow();
  const [chat] = named("chat claude-test");
  expect(chat?.status.code).toBe(SpanStatusCode.ERROR);
  expect(chat?.attributes).toMatchObject({
    "error.type": "PROVIDER_ERROR",
    "gen_ai.provider.name": "anthropic",
    "gen_ai.request.model": "claude-test",
  });
  expect(named("invoke_agent rkat")[0]?.attributes["error.type"]).toBe("PROVIDER_ERROR");
});

test("a service that shows nothing shows nothing", async () => {
  const service = newService({ traces: false });
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "run it" });
  expect(spans.getFinishedSpans().map(({ name }) => name)).toEqual(["my own"]);
});

test("the window of another loop shows its compactions inside of the loop's span", async () => {
  const window = createHistoryWindow({
    view: messageView,
    summarize: "fallback",
    autoCompactThreshold: 500,
  });
  onTestFinished(() => window.close());
  const history = Array.from({ length: 40 }, (_, at) => ({
    role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
    content: `message ${at} `.repeat(20),
  }));
  await trace.getTracer("loop").startActiveSpan("ai.generateText", async (loop) => {
    await window.apply(history);
    loop.end();
  });
  const [compaction] = named("rkat.compact");
  expect(isIn(compaction, named("ai.generateText")[0])).toBe(true);
  const { "rkat.compaction.tokens_before": before, "rkat.compaction.tokens_after": after } =
    compaction?.attributes ?? {};
  expect(Number(after)).toBeLessThan(Number(before));
});

/** What a program that is watched loads before everything else. It writes the names of its spans when it ends. */
const SETUP = `
  import { context, trace } from "@opentelemetry/api";
  import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
  import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
  import { writeFileSync } from "node:fs";
  const exporter = new InMemorySpanExporter();
  const spanProcessors = [new SimpleSpanProcessor({ exporter })];
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors }));
  process.on("exit", () => {
    const spans = exporter.getFinishedSpans().map(({ name, attributes }) => ({ name, attributes }));
    if (spans.length > 0) writeFileSync("spans.json", JSON.stringify(spans));
  });
`;

// It starts a process, with the SDK of OpenTelemetry in it.
test("the command shows its turns to what NODE_OPTIONS loads, with the provider's own package", async () => {
  const project = await Project.open({ provider: await providerForTest() });
  const setup = join(project.folder, "node_modules", "setup.mjs");
  project.write("node_modules/setup.mjs", SETUP);
  symlinkSync(resolve("node_modules/@opentelemetry"), join(dirname(setup), "@opentelemetry"));
  const env = { NODE_OPTIONS: `--import=${pathToFileURL(setup).href}` };
  const { code, stderr } = await project.start(["run", "Hello."], "", env).ended;
  expect(code, stderr).toBe(0);
  const shown = JSON.parse(readFileSync(join(project.folder, "spans.json"), "utf8")) as {
    readonly name: string;
    readonly attributes: object;
  }[];
  const names = shown.map(({ name }) => name);
  expect(names).toEqual(["chat gpt-test", "invoke_agent rkat"]);
  expect(shown[1]?.attributes).toMatchObject({ "gen_ai.provider.name": "openai" });
});

test("without anything that takes spans, the package is not loaded", () => {
  const program = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load(url, given, next) { loaded.push(url); return next(url, given); } });
    const { createSessionService } = await import("rkat");
    const { scriptedModel } = await import("rkat/testing");
    const service = createSessionService({ model: scriptedModel(["hi"]) });
    const { sessionId } = await service.createSession({});
    await service.startTurn({ sessionId, prompt: "hi" });
    await service.close();
    const count = (part) => loaded.filter((url) => url.includes(part)).length;
    console.log(count("/dist/") > 0, count("@opentelemetry"));
  `;
  const flags = [...IMPORTS_BUILT_PACKAGE, "--input-type=module", "-e", program];
  const { stdout, stderr } = spawnSync(process.execPath, flags, { encoding: "utf8" });
  expect([stdout, stderr]).toEqual(["true 0\n", ""]);
});
