import { type ErrorCode, SessionError } from "../core/errors.ts";
import type { LanguageModel, ModelChunk, ModelRequest } from "../core/language-model.ts";
import type { AssistantBlock, Message, StopReason, ToolUse } from "../core/message.ts";
import {
  type Check,
  group,
  is,
  listOf,
  positive,
  requireArgument,
  requireOptions,
  text,
} from "../core/options.ts";
import { estimateTokens } from "../core/tokens.ts";
import { NO_USAGE, type Usage } from "../core/usage.ts";

/** One answer of a scripted model. A string is a text. */
export type ScriptedReply =
  | string
  | Error
  | {
      readonly reasoning?: string;
      readonly text?: string;
      /** Number of deltas. Default 1. */
      readonly deltas?: number;
      readonly toolCalls?: readonly ToolUse[];
      readonly stopReason?: StopReason;
      readonly usage?: Partial<Usage>;
      /** Fails with this code instead of answering. */
      readonly error?: ErrorCode;
      /** The stream ends too early. The agent retries that. */
      readonly breaksOff?: true;
      /** Waits this long before it answers, unless the request is aborted. */
      readonly delayMs?: number;
    };

export interface ScriptedModel extends LanguageModel {
  /** Copies of its requests. */
  readonly requests: { readonly messages: readonly Message[]; readonly maxTokens?: number }[];
}

const reply = is(
  "a text, an Error or an object",
  (value) => typeof value === "string" || (typeof value === "object" && value !== null),
);
const replies: Check = (value) => (typeof value === "function" ? [] : listOf(reply)(value));

/**
 * A model for tests that gives scripted answers and records its requests. `next` is a list of replies,
 * or a function from a request to a reply. After the end of the list it answers "ok".
 */
export function scriptedModel(
  next: readonly ScriptedReply[] | ((request: ModelRequest, call: number) => ScriptedReply),
  options: { readonly id?: string; readonly contextWindow?: number } = {},
): ScriptedModel {
  requireArgument("the replies of scriptedModel", replies, next);
  requireOptions("scriptedModel", group({ id: text, contextWindow: positive }), options);
  const requests: ScriptedModel["requests"] = [];
  return {
    id: options.id ?? "scripted/model",
    ...(options.contextWindow === undefined ? {} : { contextWindow: options.contextWindow }),
    requests,
    async *stream(request) {
      const call = requests.length;
      const { maxTokens } = request;
      requests.push({
        messages: [...request.messages],
        ...(maxTokens === undefined ? {} : { maxTokens }),
      });
      const reply = typeof next === "function" ? next(request, call) : (next[call] ?? "ok");
      if (reply instanceof Error) throw reply;
      yield* speak(typeof reply === "string" ? { text: reply } : reply, request);
    },
  };
}

async function* speak(
  reply: Exclude<ScriptedReply, string | Error>,
  request: ModelRequest,
): AsyncIterable<ModelChunk> {
  if (reply.delayMs !== undefined) await sleep(reply.delayMs, request.signal);
  if (reply.error) throw new SessionError(reply.error, { detail: "The script says so." });
  const blocks: AssistantBlock[] = [];
  if (reply.reasoning !== undefined) {
    yield { type: "reasoning_delta", delta: reply.reasoning };
    blocks.push({ block_type: "reasoning", data: { text: reply.reasoning } });
  }
  if (reply.text !== undefined && reply.text !== "") {
    const size = Math.ceil(reply.text.length / (reply.deltas ?? 1));
    for (let at = 0; at < reply.text.length; at += size) {
      yield { type: "text_delta", delta: reply.text.slice(at, at + size) };
    }
    blocks.push({ block_type: "text", data: { text: reply.text } });
  }
  if (reply.breaksOff) return;
  for (const call of reply.toolCalls ?? []) blocks.push({ block_type: "tool_use", data: call });
  for (const block of blocks) yield { type: "block", block };
  const stopReason = reply.stopReason ?? (reply.toolCalls?.length ? "tool_use" : "end_turn");
  const usage = { ...NO_USAGE, ...(reply.usage ?? usageOf(request)) };
  yield { type: "finish", stopReason, usage };
}

function usageOf(request: ModelRequest): Partial<Usage> {
  return { input_tokens: estimateTokens(request.messages), output_tokens: 1 };
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });
}
