import type { Summarize } from "../compaction/compact-history.ts";
import { requestText } from "../compaction/summary-request.ts";
import { SessionError } from "../core/errors.ts";
import { isObject } from "../core/fields.ts";
import { alternating } from "./host-messages.ts";
import { LANG_CHAIN_ROLES, type LangChainMessage, textOf } from "./langchain-messages.ts";
import { type AskedProvider, type Counted, isMet, type WithoutAnswer } from "./provider-summary.ts";

/** The part of a chat model of LangChain that is used here. */
export interface LangChainModel {
  invoke(messages: never, config?: object): Promise<unknown>;
  bindTools?(tools: never, settings?: object): Pick<LangChainModel, "invoke">;
}

/** The part of LangChain's request to a model that rkat reads. */
export interface ModelRequest {
  readonly model: LangChainModel;
  readonly messages: readonly LangChainMessage[];
  readonly systemMessage?: { readonly content: unknown } | undefined;
  readonly tools?: readonly unknown[];
  readonly toolChoice?: unknown;
  readonly responseFormat?: unknown;
  readonly modelSettings?: object | undefined;
  readonly state: { readonly messages: readonly LangChainMessage[] };
  readonly runtime: Runtime;
}

export interface Runtime {
  readonly configurable?:
    | { readonly thread_id?: unknown; readonly checkpoint_ns?: unknown }
    | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The tags of LangChain's own calls, so that they are not streamed as the agent's. */
const SUMMARY_CALL = { tags: ["nostream"], metadata: { lc_source: "summarization" } } as const;

/** Asks the agent's model for summaries. */
export function summaryOf(model: LangChainModel): Summarize {
  if (typeof model?.invoke !== "function") {
    throw new SessionError("INVALID_PARAMS", {
      message: "The agent's model has no invoke(), so rkatMiddleware cannot ask it for a summary.",
      hint: 'Pass `summarize`, or `summarize: "fallback"` for summaries without a model.',
    });
  }
  return async ({ messages, signal }) => {
    const sent = [{ role: "user", content: requestText(messages) }];
    const answer = await model.invoke(sent as never, { ...SUMMARY_CALL, signal });
    return textOf((answer as { readonly content?: unknown }).content ?? answer);
  };
}

/**
 * The agent's model, asked for a summary at the end of the conversation: it has the last request in its cache, with the same tools
 * and instructions. One that turns out not to have it is not asked so again.
 */
export function continuedModel(
  request: ModelRequest,
  {
    id,
    counted,
    without,
  }: {
    /** The model, as `provider/model`. */
    readonly id: string;
    readonly counted: Counted | undefined;
    readonly without: WithoutAnswer;
  },
): AskedProvider | undefined {
  const { tools = [], toolChoice, responseFormat, systemMessage, model } = request;
  const mayAnswer = (toolChoice === undefined || toolChoice === "auto") && !responseFormat;
  if (!mayAnswer || typeof model?.bindTools !== "function" || tools.length === 0) return undefined;
  const settings = { ...request.modelSettings, tool_choice: toolChoice };
  return {
    model: id,
    counted,
    sends: "closing",
    async ask(asked, now) {
      const messages = now.messages as readonly LangChainMessage[];
      const end = messages.findLastIndex(({ type }) => type !== "human") + 1;
      const closing = { type: "human", content: asked.closing };
      const sent = [
        ...(systemMessage && textOf(systemMessage.content) !== "" ? [systemMessage] : []),
        ...alternating([...messages.slice(0, end), closing], LANG_CHAIN_ROLES),
      ];
      const bound = model.bindTools?.(tools as never, settings);
      const answer = await bound?.invoke(sent as never, {
        ...SUMMARY_CALL,
        signal: asked.signal,
      });
      if (!isMet(countedIn(answer)?.cached ?? 0, { counted })) without.add(id);
      const text = textOf((answer as { readonly content?: unknown }).content ?? "");
      return text.trim() === "" ? undefined : text;
    },
  };
}

/** The provider's count in an answer of the model. */
export function countedIn(answer: unknown): Counted | undefined {
  const { usage_metadata: usage } = isObject(answer) ? answer : {};
  if (!isObject(usage) || typeof usage.input_tokens !== "number") return undefined;
  const { cache_read = 0, cache_creation = 0 } = isObject(usage.input_token_details)
    ? usage.input_token_details
    : {};
  const cached = Number(cache_read) + Number(cache_creation);
  return { tokens: usage.input_tokens, cached, atMs: Date.now() };
}
