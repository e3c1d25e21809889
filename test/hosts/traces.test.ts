import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { generateText, stepCountIs, tool } from "ai6";
import { MockLanguageModelV3 } from "ai6/test";
import { rkatPrepareStep } from "rkat/ai-sdk";
import { afterEach, expect, test } from "vitest";
import { z } from "zod";

afterEach(() => {
  for (const api of [trace, context]) api.disable();
});

const read = tool({
  description: "Reads a file.",
  inputSchema: z.object({ path: z.string() }),
  execute: ({ path }) => `${path} is empty. ${"The line has no code. ".repeat(200)}`,
});

/** A model that reads six files. */
function reader() {
  let step = 0;
  return new MockLanguageModelV3({
    async doGenerate() {
      step += 1;
      const input = JSON.stringify({ path: `${step}.ts` });
      const call = { type: "tool-call", toolCallId: `c${step}`, toolName: "read", input } as const;
      const isLast = step > 6;
      return {
        content: [isLast ? { type: "text", text: "Done." } : call],
        finishReason: { unified: isLast ? "stop" : "tool-calls", raw: undefined },
        usage: {
          inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 5, text: 5, reasoning: 0 },
        },
        warnings: [],
      };
    },
  });
}

test("the compactions of a window are inside of the spans that the AI SDK itself shows", async () => {
  const exporter = new InMemorySpanExporter();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(
    new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
  );
  await generateText({
    model: reader(),
    prompt: "Read six files.",
    tools: { read },
    stopWhen: stepCountIs(10),
    prepareStep: rkatPrepareStep({ contextWindow: 4_000, summarize: "fallback" }),
    experimental_telemetry: { isEnabled: true },
  });
  const spans = exporter.getFinishedSpans();
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  const parentOf = (span: ReadableSpan | undefined) =>
    byId.get(span?.parentSpanContext?.spanId ?? "");
  const compactions = spans.filter(({ name }) => name === "rkat.compact");
  expect(compactions.length).toBeGreaterThan(0);
  expect(new Set(compactions.map((span) => parentOf(span)?.name))).toEqual(
    new Set(["ai.generateText"]),
  );
  for (const { attributes } of compactions) {
    expect(Number(attributes["rkat.compaction.tokens_after"])).toBeLessThanOrEqual(
      Number(attributes["rkat.compaction.tokens_before"]),
    );
  }
});
