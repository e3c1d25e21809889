import type { Attributes, Span } from "@opentelemetry/api";
import { SessionError } from "../core/errors.ts";
import { given } from "../core/fields.ts";
import { jsonText } from "../core/json-values.ts";
import { type AssistantBlock, contentText, type Message } from "../core/message.ts";
import {
  NO_TRACES,
  type SpanFields,
  type SpanStart,
  type TracedContents,
  type TracedSpan,
  type Traces,
} from "../core/traces.ts";
import type { TokenUsage } from "../core/usage.ts";

type Api = typeof import("@opentelemetry/api");

/** Spans and metrics through `@opentelemetry/api`, if it is installed, by its conventions for generative AI. */
export async function openTelemetry({ contents = areContentsAsked() } = {}): Promise<Traces> {
  const api = await import("@opentelemetry/api").catch(() => undefined);
  return api ? { span: (start, work) => traced(api, start, work, contents) } : NO_TRACES;
}

/** The variable by which programs that are watched are asked for contents, whatever they are made of. */
function areContentsAsked(): boolean {
  return process.env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT === "true";
}

async function traced<Result>(
  { trace, metrics, SpanKind, SpanStatusCode }: Api,
  start: SpanStart,
  work: (span: TracedSpan) => Promise<Result>,
  hasContents: boolean,
): Promise<Result> {
  const { operation, of, model } = start;
  const common = fieldsOf(start);
  const startedAt = performance.now();
  let failure: string | undefined;
  let usage: TokenUsage | undefined;
  const name = of === undefined ? operation : `${operation} ${of}`;
  const kind = operation === "chat" ? SpanKind.CLIENT : SpanKind.INTERNAL;
  const attributes = { ...common, ...start.fields } as Attributes;
  return await trace.getTracer("rkat").startActiveSpan(name, { kind, attributes }, async (span) => {
    const say = (said: (() => TracedContents) | undefined) => {
      if (hasContents && said && span.isRecording()) span.setAttributes(contentFields(said()));
    };
    const fail = (why: string) => {
      failure = why;
      span.setAttribute("error.type", why);
      span.setStatus({ code: SpanStatusCode.ERROR });
    };
    try {
      say(start.contents);
      return await work({
        set: (fields) => void span.setAttributes(fields as Attributes),
        uses: (used) => void span.setAttributes(modelFields(used)),
        used(tokens) {
          usage = tokens;
          setUsage(span, tokens);
        },
        said: say,
        failed: fail,
      });
    } catch (error) {
      // Its message may have something in it that was said.
      fail(SessionError.is(error) ? error.code : nameOf(error));
      throw error;
    } finally {
      span.end();
      const seconds = (performance.now() - startedAt) / 1000;
      const told = { ...metricFields(start), ...given({ "error.type": failure }) };
      const meter = metrics.getMeter("rkat");
      const duration = DURATIONS[operation];
      if (duration !== undefined)
        meter.createHistogram(duration, { unit: "s" }).record(seconds, told);
      if (operation === "chat" && usage && model !== undefined) countTokens(meter, usage, told);
    }
  });
}

/** Metrics of how long work takes, by its operation. */
const DURATIONS: Readonly<Partial<Record<SpanStart["operation"], string>>> = {
  chat: "gen_ai.client.operation.duration",
  search_memory: "gen_ai.client.operation.duration",
  execute_tool: "gen_ai.execute_tool.duration",
  invoke_agent: "rkat.turn.duration",
  "rkat.compact": "rkat.compaction.duration",
};

type Meter = ReturnType<Api["metrics"]["getMeter"]>;

function countTokens(meter: Meter, usage: TokenUsage, told: Attributes): void {
  const tokens = meter.createHistogram("gen_ai.client.token.usage", { unit: "{token}" });
  tokens.record(usage.inputTokens, { ...told, "gen_ai.token.type": "input" });
  tokens.record(usage.outputTokens, { ...told, "gen_ai.token.type": "output" });
}

function fieldsOf(start: SpanStart): SpanFields {
  const { operation, of, sessionId } = start;
  return {
    ...metricFields(start),
    ...given({
      "gen_ai.conversation.id": sessionId,
      "gen_ai.agent.name": operation === "invoke_agent" ? of : undefined,
    }),
  };
}

/** The fields with few values. */
function metricFields({ operation, of, model }: SpanStart): Attributes {
  return given({
    "gen_ai.operation.name": operation,
    ...(model === undefined ? {} : modelFields(model)),
    "gen_ai.tool.name": operation === "execute_tool" ? of : undefined,
  });
}

function modelFields(model: string): Attributes {
  const [, provider, name = model] = /^([^/]*)\/(.*)$/s.exec(model) ?? [];
  return given({
    "gen_ai.provider.name": provider && (PROVIDERS[provider] ?? provider),
    "gen_ai.request.model": name,
  });
}

/** Providers whose names in the conventions are others. */
const PROVIDERS: Readonly<Record<string, string>> = { google: "gcp.gemini" };

function setUsage(span: Span, usage: TokenUsage): void {
  span.setAttributes(
    given({
      "gen_ai.usage.input_tokens": usage.inputTokens,
      "gen_ai.usage.output_tokens": usage.outputTokens,
      "gen_ai.usage.cache_read.input_tokens": usage.cacheReadTokens ?? undefined,
      "gen_ai.usage.cache_creation.input_tokens": usage.cacheCreationTokens ?? undefined,
    }),
  );
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "Error";
}

/** Messages in OpenTelemetry's fields for them, which are JSON. Pictures and files are left out. */
function contentFields(contents: TracedContents): Attributes {
  const { input, output, args, result, query } = contents;
  const system = input?.filter(({ role }) => role === "system") ?? [];
  const rest = input?.filter(({ role }) => role !== "system");
  return given({
    "gen_ai.system_instructions":
      system.length > 0 ? jsonText(system.flatMap((message) => partsOf(message))) : undefined,
    "gen_ai.input.messages": rest && jsonText(rest.map(messageOf)),
    "gen_ai.output.messages":
      output && jsonText([{ role: "assistant", parts: output.flatMap(blockParts) }]),
    "gen_ai.tool.call.arguments": args === undefined ? undefined : jsonText(args),
    "gen_ai.tool.call.result": result,
    "gen_ai.memory.query.text": query === undefined ? undefined : [query].flat().join("\n"),
  });
}

type Part = Readonly<Record<string, unknown>>;

const ROLES: Readonly<Partial<Record<Message["role"], string>>> = {
  block_assistant: "assistant",
  tool_results: "tool",
};

function messageOf(message: Message): Part {
  return { role: ROLES[message.role] ?? message.role, parts: partsOf(message) };
}

function partsOf(message: Message): readonly Part[] {
  switch (message.role) {
    case "system":
      return [textPart(message.content)];
    case "user":
      return [textPart(contentText(message.content))];
    case "assistant":
      return [
        ...(message.content === "" ? [] : [textPart(message.content)]),
        ...(message.tool_calls ?? []).map(({ id, name, args }) => callPart(id, name, args)),
      ];
    case "block_assistant":
      return message.blocks.flatMap(blockParts);
    case "tool_results":
      return message.results.map(({ tool_use_id, content }) => ({
        type: "tool_call_response",
        id: tool_use_id,
        response: content,
      }));
  }
}

function blockParts(block: AssistantBlock): readonly Part[] {
  switch (block.block_type) {
    case "text":
      return [textPart(block.data.text)];
    case "reasoning":
      return [{ type: "reasoning", content: block.data.text }];
    case "tool_use":
      return [callPart(block.data.id, block.data.name, block.data.args)];
  }
}

const textPart = (content: string): Part => ({ type: "text", content });
const callPart = (id: string, name: string, args: unknown): Part => ({
  type: "tool_call",
  id,
  name,
  arguments: args,
});
