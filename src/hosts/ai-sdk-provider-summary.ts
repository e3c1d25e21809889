import type { SummaryRequest } from "../compaction/compact-history.ts";
import { isObject } from "../core/fields.ts";
import type { ProviderItem } from "../core/provider-item.ts";
import type { AiSdkMessage } from "../models/model-messages.ts";
import { promptOf } from "./ai-sdk-requests.ts";
import { isOnlySent, onlySent } from "./ai-sdk-view.ts";
import { opaqueTokensOf } from "./host-messages.ts";
import type { AskedProvider, Counted } from "./provider-summary.ts";

/** The fields of a language model's call that are used here: of AI SDK 5, 6 and 7. */
export interface CallParams {
  readonly prompt: readonly AiSdkMessage[];
  readonly tools?: readonly unknown[] | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  readonly toolChoice?: { readonly type: string } | undefined;
  readonly responseFormat?: { readonly type: string } | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  readonly providerOptions?:
    | {
        readonly rkat?: { readonly chatId?: unknown };
        readonly anthropic?: object;
        readonly openai?: object;
      }
    | undefined;
}

/** A request of a chat as it was sent, and what its provider counted once it was answered. */
export interface SentRequest {
  readonly params: CallParams;
  /** As `provider/model`. */
  readonly model: string;
  readonly counted: Counted | undefined;
}

/** The part of a model of the AI SDK that is asked. */
interface AskedModel {
  readonly provider: string;
  doGenerate(request: object): PromiseLike<{ readonly content: readonly unknown[] }>;
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
    sendsNow: true,
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
  const { openai = {} } = params.providerOptions ?? {};
  const isKept = "previousResponseId" in openai || "conversation" in openai;
  return isKept ? undefined : id;
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
