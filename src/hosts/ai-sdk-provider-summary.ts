import type { SummaryRequest } from "../compaction/compact-history.ts";
import type { SentNow } from "../compaction/write-summary.ts";
import type { ProviderItem } from "../core/compactor.ts";
import { isObject } from "../core/fields.ts";
import type { AiSdkMessage } from "../models/model-messages.ts";
import { promptOf } from "./ai-sdk-requests.ts";
import {
  type CallParams,
  countedIn,
  type SentRequest,
  type Streamed,
  type TextAnswer,
  wholeAnswer,
} from "./ai-sdk-sent-requests.ts";
import { isOnlySent, onlySent } from "./ai-sdk-view.ts";
import { isAlike, opaqueTokensOf } from "./host-messages.ts";
import { type AskedProvider, answerTokens, isMet, type WithoutAnswer } from "./provider-summary.ts";

/** The part of a model of the AI SDK that is asked. */
interface AskedModel {
  readonly provider: string;
  doGenerate(request: object): PromiseLike<{ readonly content: readonly unknown[] }>;
  doStream?(request: object): PromiseLike<Streamed>;
}

/** The provider of a model, if it may be asked for what stands for a history: Anthropic for a text, OpenAI for an item. */
export function askedProvider(
  asked: unknown,
  { id, params, last }: { id: string; params: CallParams; last: SentRequest | undefined },
): AskedProvider | undefined {
  if (!isModel(asked) || last?.model !== id) return undefined;
  const { counted } = last;
  if (isAnthropics(asked) && maySummarize(last.params)) {
    const ask = (request: SummaryRequest) => textOf(asked, last.params, request);
    return { model: id, counted, ask };
  }
  if (readerOf(asked, id, params) === undefined || !maySummarize(params)) return undefined;
  return {
    model: id,
    counted,
    sends: "now",
    ask: ({ signal }, { messages }) =>
      itemOf(asked, { ...params, prompt: promptOf(params.prompt, messages) }, { id, signal }),
  };
}

/**
 * The model that may be sent an item which it made: one of OpenAI's Responses API, where OpenAI does not keep the conversation
 * itself.
 */
export function readerOf(asked: unknown, id: string, params: CallParams): string | undefined {
  if (!isModel(asked) || asked.provider !== "openai.responses") return undefined;
  return isKept(params) ? undefined : id;
}

/** Whether OpenAI keeps the conversation itself, so that a request does not have it. */
function isKept({ providerOptions }: CallParams): boolean {
  const { openai = {} } = providerOptions ?? {};
  return "previousResponseId" in openai || "conversation" in openai;
}

/**
 * The model of a chat itself, asked for a summary at the end of the conversation: it has the last request in its cache. One that
 * turns out not to have it is not asked so again.
 */
export function continuedModel(
  asked: unknown,
  {
    id,
    last,
    without,
  }: {
    readonly id: string;
    readonly last: SentRequest | undefined;
    readonly without: WithoutAnswer;
  },
): AskedProvider | undefined {
  if (!isModel(asked) || last?.model !== id) return undefined;
  if (!maySummarize(last.params) || isKept(last.params)) return undefined;
  const { counted, isStreamed } = last;
  const ask = async (prompt: CallParams["prompt"], request: SummaryRequest, now: SentNow) => {
    const { stopSequences: _, ...params } = last.params;
    const { rkat, ...providerOptions } = params.providerOptions ?? {};
    const closing = {
      ...params,
      // The model may be one with rkat's middleware, which is not to compact this.
      providerOptions: { ...providerOptions, rkat: { ...rkat, isSummary: true } },
      prompt: [...prompt, closingMessage(asked, request.closing)],
      maxOutputTokens: answerTokens(request, now),
      abortSignal: request.signal,
    };
    const answer = await answerTo(asked, closing, isStreamed);
    if (answer.counted && !isMet(answer.counted.cached, { counted })) without.add(id);
    return answer.text.trim() === "" ? undefined : answer.text;
  };
  return {
    model: id,
    counted,
    sends: "closing",
    ask: (request, now) => {
      const prompt = continuedPrompt(last, now.messages as readonly AiSdkMessage[]);
      return prompt && ask(prompt, request, now);
    },
  };
}

/** Asks as the last request was asked: with its answer streamed or not. */
async function answerTo(
  model: AskedModel,
  request: object,
  isStreamed: boolean,
): Promise<TextAnswer> {
  if (isStreamed && model.doStream) return await wholeAnswer(await model.doStream(request));
  const answer = await model.doGenerate(request);
  const texts = answer.content.flatMap((part) => {
    const { type, text } = part as { readonly type?: unknown; readonly text?: unknown };
    return type === "text" && typeof text === "string" ? [text] : [];
  });
  return { text: texts.join(""), counted: countedIn(answer) };
}

/**
 * The prompt of the last request with what came after it, up to the prompt that has no answer yet. None when it begins
 * otherwise than the last one, or has what only the loop can write.
 */
function continuedPrompt(
  { params, messages }: SentRequest,
  now: readonly AiSdkMessage[],
): readonly AiSdkMessage[] | undefined {
  const sent = promptOf(messages, now);
  const isBegun = messages.every((message, at) => isAlike(message, sent[at]));
  const after = sent.slice(messages.length);
  const end = after.findLastIndex(({ role }) => role !== "user") + 1;
  const added = after.slice(0, end).map(asSent);
  if (!isBegun || !added.every((message) => message !== undefined)) return undefined;
  const whole = [...params.prompt, ...added];
  return whole.slice(0, whole.findLastIndex(({ role }) => role !== "user") + 1);
}

/** Parts that a loop sends as they are. */
const SENT_PARTS: ReadonlySet<string> = new Set([
  "text",
  "reasoning",
  "custom",
  "tool-call",
  "tool-result",
]);
const SENT_OUTPUTS: ReadonlySet<unknown> = new Set(["text", "json", "error-text", "error-json"]);

/** A message of a loop as its model is sent it; `undefined` where that takes more. */
function asSent(message: AiSdkMessage): AiSdkMessage | undefined {
  const { content } = message;
  if (message.role === "system") return message;
  if (typeof content === "string") return { ...message, content: [textPart(content)] };
  const isPlain = content.every((part) => {
    const { type, output } = part as { readonly type: string; readonly output?: unknown };
    return SENT_PARTS.has(type) && (!isObject(output) || SENT_OUTPUTS.has(output.type));
  });
  return isPlain ? message : undefined;
}

/** Anthropic reads its cache only for a request with a mark of its own. */
function closingMessage(model: AskedModel, text: string): AiSdkMessage {
  const marked = { providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } };
  return {
    role: "user",
    content: [textPart(text)],
    ...(isAnthropics(model) ? marked : {}),
  };
}

function textPart(text: string) {
  return { type: "text", text };
}

/** A prompt without the item that is only sent. */
export function withoutItem(prompt: readonly AiSdkMessage[]): readonly AiSdkMessage[] {
  const isItem = (part: unknown) => isObject(part) && part.kind === KIND;
  return prompt.filter(
    (message) => !(isOnlySent(message) && (message.content as readonly unknown[]).some(isItem)),
  );
}

const KIND = "openai.compaction";

function isModel(model: unknown): model is AskedModel {
  return isObject(model) && typeof model.provider === "string" && "doGenerate" in model;
}

function isAnthropics({ provider }: AskedModel): boolean {
  return /^anthropic(?:\.|$)/.test(provider);
}

/** Anthropic summarises no request that forces a tool or a form of the answer, and OpenAI is not asked with one either. */
function maySummarize({ toolChoice, responseFormat }: CallParams): boolean {
  return /^(?:auto|none)$/.test(toolChoice?.type ?? "auto") && responseFormat?.type !== "json";
}

async function textOf(
  model: AskedModel,
  { stopSequences: _, ...params }: CallParams,
  { maxTokens, signal }: SummaryRequest,
): Promise<string | undefined> {
  const { anthropic = {}, ...others } = params.providerOptions ?? {};
  const { content } = await model.doGenerate({
    ...params,
    maxOutputTokens: maxTokens,
    providerOptions: {
      ...others,
      // Neither goes with a summary.
      anthropic: {
        ...anthropic,
        contextManagement: undefined,
        taskBudget: undefined,
        compaction: { type: "summarize" },
      },
    },
    abortSignal: signal,
  });
  const texts = content.flatMap((part) => {
    const { text, providerMetadata } = part as { text?: unknown; providerMetadata?: unknown };
    const { anthropic } = isObject(providerMetadata) ? providerMetadata : {};
    const isSummary = isObject(anthropic) && anthropic.type === "compaction";
    return isSummary && typeof text === "string" ? [text] : [];
  });
  return texts[0];
}

async function itemOf(
  model: AskedModel,
  params: CallParams,
  { id, signal }: { readonly id: string; readonly signal: AbortSignal },
): Promise<ProviderItem | undefined> {
  const { openai = {}, ...others } = params.providerOptions ?? {};
  const { content } = await model.doGenerate({
    ...params,
    // It is as long as OpenAI makes it. One that is too long for the history is not taken.
    maxOutputTokens: undefined,
    providerOptions: {
      ...others,
      openai: { ...openai, contextManagement: undefined, compactionTrigger: true },
    },
    abortSignal: signal,
  });
  const [item] = content.flatMap((part) => {
    const { kind, providerMetadata } = part as { kind?: unknown; providerMetadata?: unknown };
    const { openai } = isObject(providerMetadata) ? providerMetadata : {};
    const { itemId, encryptedContent } = isObject(openai) ? openai : {};
    const isWhole = [itemId, encryptedContent].every((text) => typeof text === "string" && text);
    return kind === KIND && isWhole ? [{ openai: openai as object }] : [];
  });
  if (!item) return undefined;
  const part = { type: "custom", kind: KIND, providerOptions: item };
  return { reader: id, message: onlySent([part]), tokens: opaqueTokensOf([part]) };
}
