import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { OpenTelemetry } from "@ai-sdk/otel";
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  BatchSpanProcessor,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { generateText, stepCountIs, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { generateText as generateText6, stepCountIs as stepCountIs6, tool as tool6 } from "ai6";
import { MockLanguageModelV3 } from "ai6/test";
import { createSessionService, defineTool, ephemeralStores } from "rkat";
import { fromAiSdk, memoryTools, rkatMiddleware, rkatPrepareStep } from "rkat/ai-sdk";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";

afterEach(() => {
  for (const api of [trace, context]) api.disable();
});

/** What a program does that is watched. */
function watch(processor: SpanProcessor): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [processor] }));
}

/** The spans of some work, which has a span of the program around it. */
async function spansOf(work: () => PromiseLike<unknown>): Promise<readonly ReadableSpan[]> {
  const exporter = new InMemorySpanExporter();
  watch(new SimpleSpanProcessor({ exporter }));
  await trace.getTracer("mine").startActiveSpan("POST /ask", async (request) => {
    await work();
    request.end();
  });
  return exporter.getFinishedSpans();
}

/** The names of the spans around a span, the nearest first. */
function above(spans: readonly ReadableSpan[], span: ReadableSpan): readonly string[] {
  const parent = spans.find((one) => one.spanContext().spanId === span.parentSpanContext?.spanId);
  return parent ? [parent.name, ...above(spans, parent)] : [];
}

const named = (spans: readonly ReadableSpan[], name: string) =>
  spans.filter((span) => span.name === name);

const tracesOf = (spans: readonly ReadableSpan[]) =>
  new Set(spans.map((span) => span.spanContext().traceId)).size;

/** Input tokens of all calls of models, as the spans have them. */
const countedTokens = (spans: readonly ReadableSpan[]) =>
  spans
    .filter(({ attributes }) => attributes["gen_ai.operation.name"] === "chat")
    .reduce((sum, { attributes }) => sum + Number(attributes["gen_ai.usage.input_tokens"]), 0);

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
} as const;

const file = {
  description: "Reads a file.",
  inputSchema: z.object({ path: z.string() }),
  execute: ({ path }: { readonly path: string }) =>
    `${path} is empty. ${"The line has no code. ".repeat(200)}`,
} as const;

/** What a model says in its nth call: it reads six files, looks into memory, and is done. */
function replyOf(step: number) {
  const [toolName, args] =
    step > 6 ? ["memory_search", { query: "a file" }] : ["read", { path: `${step}.ts` }];
  const call = { toolCallId: `c${step}`, toolName, input: JSON.stringify(args) };
  const isLast = step > 7;
  return {
    content: [
      isLast
        ? ({ type: "text", text: "Done." } as const)
        : ({ type: "tool-call", ...call } as const),
    ],
    finishReason: { unified: isLast ? "stop" : "tool-calls", raw: undefined },
    usage,
    warnings: [],
  } as const;
}

function reader() {
  let step = 0;
  return new MockLanguageModelV4({
    async doGenerate() {
      step += 1;
      const { content, ...reply } = replyOf(step);
      return { ...reply, content: [...content], warnings: [] };
    },
  });
}

const window = { contextWindow: 4_000, summarize: "fallback" } as const;

function newMemory() {
  const memory = memoryTools({ stores: ephemeralStores() });
  onTestFinished(() => memory.close());
  return memory.tools;
}

test("beside the spans of the AI SDK 7, a window's compactions and searches are in the same trace, and each call is counted once", async () => {
  const model = reader();
  const spans = await spansOf(() =>
    generateText({
      model,
      prompt: "Read six files.",
      tools: { read: tool(file), ...newMemory() },
      stopWhen: stepCountIs(10),
      prepareStep: rkatPrepareStep(window),
      telemetry: { integrations: [new OpenTelemetry()] },
    }),
  );
  expect(tracesOf(spans)).toBe(1);
  expect(named(spans, "rkat.compact").length).toBeGreaterThan(0);
  for (const compaction of named(spans, "rkat.compact"))
    expect(above(spans, compaction)).toEqual(["POST /ask"]);
  const [search] = named(spans, "search_memory");
  expect(search && above(spans, search)[0]).toBe("execute_tool memory_search");
  expect(named(spans, "chat mock-model-id")).toHaveLength(model.doGenerateCalls.length);
  expect(countedTokens(spans)).toBe(10 * model.doGenerateCalls.length);
});

test("as a middleware, its compactions are inside of the AI SDK's span of the call that they make room for", async () => {
  const model = reader();
  const spans = await spansOf(() =>
    generateText({
      model: wrapLanguageModel({ model, middleware: rkatMiddleware(window) }),
      prompt: "Read six files.",
      tools: { read: tool(file), ...newMemory() },
      stopWhen: stepCountIs(10),
      telemetry: { integrations: [new OpenTelemetry()] },
    }),
  );
  const compactions = named(spans, "rkat.compact");
  expect(compactions.length).toBeGreaterThan(0);
  for (const compaction of compactions)
    expect(above(spans, compaction)[0]).toBe("chat mock-model-id");
  expect(tracesOf(spans)).toBe(1);
  expect(countedTokens(spans)).toBe(10 * model.doGenerateCalls.length);
});

test("what a tool of rkat asks of the AI SDK is inside of the tool's span, and in no sum of the turn", async () => {
  const other = new MockLanguageModelV4({
    doGenerate: {
      content: [{ type: "text", text: "Seven." }],
      finishReason: { unified: "stop", raw: undefined },
      usage,
      warnings: [],
    },
  });
  const ask = defineTool({
    name: "ask",
    description: "Asks another model.",
    input: z.object({}),
    execute: async () =>
      (
        await generateText({
          model: other,
          prompt: "How many?",
          telemetry: { integrations: [new OpenTelemetry()] },
        })
      ).text,
  });
  let calls = 0;
  const own = new MockLanguageModelV4({
    async doStream() {
      calls += 1;
      const said = [
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "Seven." },
        { type: "text-end", id: "t" },
      ] as const;
      const call = { type: "tool-call", toolCallId: "a", toolName: "ask", input: "{}" } as const;
      const end = {
        type: "finish",
        finishReason: { unified: calls === 1 ? "tool-calls" : "stop", raw: undefined },
        usage,
      } as const;
      return { stream: ReadableStream.from([...(calls === 1 ? [call] : said), end]) };
    },
  });
  const service = createSessionService({
    model: fromAiSdk(own),
    tools: [ask],
    stores: ephemeralStores(),
  });
  onTestFinished(() => service.close());
  const spans = await spansOf(async () => {
    const { sessionId } = await service.createSession({});
    await service.startTurn({ sessionId, prompt: "Ask it." });
  });
  expect(tracesOf(spans)).toBe(1);
  expect([calls, other.doGenerateCalls.length]).toEqual([2, 1]);
  const [asked] = named(spans, "invoke_agent mock-model-id");
  expect(asked && above(spans, asked)).toEqual([
    "execute_tool ask",
    "invoke_agent rkat",
    "POST /ask",
  ]);
  expect([calls, other.doGenerateCalls.length]).toEqual([2, 1]);
  expect(countedTokens(spans)).toBe(30);
  const [turn] = named(spans, "invoke_agent rkat");
  expect(turn?.attributes["gen_ai.usage.input_tokens"]).toBe(20);
});

test("the compactions of a window are inside of the spans that the AI SDK 6 itself shows", async () => {
  let step = 0;
  const model = new MockLanguageModelV3({
    async doGenerate() {
      step += 1;
      const { content, ...reply } = replyOf(step);
      return { ...reply, content: [...content], warnings: [] };
    },
  });
  const memory = newMemory();
  const spans = await spansOf(() =>
    generateText6({
      model,
      prompt: "Read six files.",
      tools: { read: tool6(file), memory_search: memory.memory_search as never },
      stopWhen: stepCountIs6(10),
      prepareStep: rkatPrepareStep(window),
      experimental_telemetry: { isEnabled: true },
    }),
  );
  const compactions = named(spans, "rkat.compact");
  expect(compactions.length).toBeGreaterThan(0);
  for (const compaction of compactions) {
    expect(above(spans, compaction)[0]).toBe("ai.generateText");
    expect(Number(compaction.attributes["rkat.compaction.tokens_after"])).toBeLessThanOrEqual(
      Number(compaction.attributes["rkat.compaction.tokens_before"]),
    );
  }
});

/** A span as OpenTelemetry's own exporter sends it. */
interface SentSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string };
      readonly spans: readonly SentSpan[];
    }[];
  }[];
}

test("OpenTelemetry's own exporter sends all of a turn to a collector, by its protocol", async () => {
  const bodies: Sent[] = [];
  const collector = createServer(async (request: IncomingMessage, response) => {
    expect(request.url).toBe("/v1/traces");
    bodies.push((await json(request)) as Sent);
    response.setHeader("content-type", "application/json").end("{}");
  }).listen(0, "127.0.0.1");
  await once(collector, "listening");
  onTestFinished(() => void collector.close());
  const { port } = collector.address() as AddressInfo;
  const exporter = new OTLPTraceExporter({ url: `http://127.0.0.1:${port}/v1/traces` });
  const processor = new BatchSpanProcessor({ exporter });
  watch(processor);
  const replies = replyOf(8);
  const model = fromAiSdk(
    new MockLanguageModelV4({
      doStream: {
        stream: ReadableStream.from([
          { type: "text-start", id: "t" },
          { type: "text-delta", id: "t", delta: "Done." },
          { type: "text-end", id: "t" },
          { type: "finish", finishReason: replies.finishReason, usage },
        ] as const),
      },
    }),
  );
  const service = createSessionService({ model, stores: ephemeralStores() });
  onTestFinished(() => service.close());
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "the vault opens with tangerine" });
  await processor.forceFlush();
  await processor.shutdown();
  const scopes = bodies
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap((one) => one.scopeSpans);
  expect(new Set(scopes.map(({ scope }) => scope.name))).toEqual(new Set(["rkat"]));
  const sent = scopes.flatMap(({ spans }) => spans);
  const turn = sent.find(({ name }) => name === "invoke_agent rkat");
  const chat = sent.find(({ name }) => name === "chat mock-model-id");
  expect(chat?.parentSpanId).toBe(turn?.spanId);
  expect(chat?.traceId).toBe(turn?.traceId);
  expect(chat?.attributes).toContainEqual({
    key: "gen_ai.usage.input_tokens",
    value: { intValue: 10 },
  });
  expect(chat?.attributes).toContainEqual({
    key: "gen_ai.conversation.id",
    value: { stringValue: sessionId },
  });
  expect(JSON.stringify(bodies)).not.toContain("tangerine");
});
