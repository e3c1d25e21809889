import { newId } from "../core/ids.ts";
import { jsonText } from "../core/json-values.ts";
import { looksRecalled } from "../core/recalled.ts";
import type { Tool } from "../core/tool.ts";
import type { AiSdkMessage } from "../models/model-messages.ts";
import type { HistoryWindow, HistoryWindowOptions } from "../window/history-window.ts";
import { continuedModel } from "./ai-sdk-provider-summary.ts";
import { modelOptions, sentOf } from "./ai-sdk-requests.ts";
import {
  isLoopModel,
  notedModel,
  type SentRequest,
  SentRequests,
  ShownCounts,
  type StepUsage,
} from "./ai-sdk-sent-requests.ts";
import { AI_SDK_ROLES, aiSdkView } from "./ai-sdk-view.ts";
import { HostChats, type HostMemory, isTooLong, outputOf } from "./host-chats.ts";
import { requireMessages } from "./host-messages.ts";
import { cachedBy, summaryByProvider, WithoutAnswer } from "./provider-summary.ts";

export interface MastraProcessorOptions extends Omit<HistoryWindowOptions<AiSdkMessage>, "view"> {}

/** The part of the input of Mastra's processors that rkat reads. */
export interface MastraStep {
  readonly requestContext?: { get(key: string): unknown } | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

export interface MastraRequest extends MastraStep {
  readonly prompt: readonly AiSdkMessage[];
  readonly model: unknown;
  readonly steps: readonly { readonly usage?: StepUsage }[];
  /** The state of one run of the agent. */
  readonly state: Record<string, unknown>;
}

/** A step before its messages become a prompt. */
export interface MastraModelStep<Model> {
  readonly model: Model;
  /** The state of one run of the agent. */
  readonly state: Record<string, unknown>;
}

export interface MastraRejection extends MastraStep {
  readonly error: unknown;
  readonly stepNumber: number;
  readonly state: Record<string, unknown>;
}

/**
 * A processor for Mastra's agents: compacts the history that the model is sent. The messages that Mastra saves stay whole.
 *
 *     processInputStep    the model's requests are noted: a summary is asked for at the end of the last one
 *     processLLMRequest   the window decides ─► the model answers
 *                                ▲                    │
 *     processAPIError            └── compact more ◄───┘ "context too long"
 */
export function mastraProcessor(options: MastraProcessorOptions, memory?: HostMemory) {
  const { contextWindow, summarize } = options;
  const chats = new HostChats({ ...options, view: aiSdkView }, memory);
  const shown = new ShownCounts();
  const requests = new SentRequests();
  const without = new WithoutAnswer();
  /** The models behind those that note their requests. */
  const inner = new WeakMap<object, unknown>();
  /** The next request to the model of each run. */
  const sending = new WeakMap<object, Sending>();
  /** Runs whose last request was refused as too long. */
  const outgrown = new WeakSet<object>();

  return {
    id: "rkat",
    name: "rkat",
    /** Before you close the stores. */
    close: async () => memory?.close(),
    /** For the agent's `tools`: the model searches what left. */
    tools: Object.fromEntries((memory?.tools ?? []).map(mastraTool)),

    async processInputStep<Model>({
      model,
      state,
    }: MastraModelStep<Model>): Promise<{ model: Model } | undefined> {
      if (summarize || !isLoopModel(model)) return undefined;
      const noted = notedModel(model, requests, (request) => {
        const { window, ...sent } = sending.get(state) ?? {};
        if (window) requests.add(window, { ...request, ...(sent as Omit<Sending, "window">) });
      });
      inner.set(noted, model);
      return { model: noted };
    },

    async processLLMRequest<Prompt extends readonly AiSdkMessage[]>(
      request: MastraRequest & { readonly prompt: Prompt },
    ): Promise<{ prompt: Prompt }> {
      const { prompt, steps, state, abortSignal } = request;
      requireMessages("Mastra's prompt", prompt);
      const id = threadOf(request);
      const isInner = isSubAgents(request);
      const window = chats.of(id ? { id, isInner } : { begins: beginning(prompt) });
      const { usage } = steps.at(-1) ?? {};
      const lastInputTokens = usage?.inputTokens;
      const model = inner.get(request.model as object) ?? request.model;
      const own = modelOptions(model, { contextWindow, summarize });
      const last = requests.lastOf(window);
      const itself = summarize
        ? undefined
        : continuedModel(model, { id: own.model, last, without });
      const spoken = isInner ? prompt.filter((message) => !isRecord(message)) : prompt;
      const sent = await sentOf(window, spoken, {
        ...own,
        summarize: summaryByProvider(itself, own.summarize, without),
        cached: cachedBy(own.model, last ?? shown.lastOf(window, own.model, usage)),
        outgrown: outgrown.delete(state),
        ...(lastInputTokens === undefined ? {} : { lastInputTokens }),
        ...(abortSignal ? { signal: abortSignal } : {}),
      }).catch((error: unknown) => {
        // Mastra calls no model then, and keeps the turn. Of one that a processor ends it keeps nothing.
        if (abortSignal?.aborted) return prompt;
        throw error;
      });
      sending.set(state, { window, messages: sent, model: own.model });
      return { prompt: sent as Prompt };
    },

    async processAPIError({
      error,
      state,
      stepNumber,
    }: MastraRejection): Promise<{ retry: boolean } | undefined> {
      if (!isTooLong(error) || state.refusedAt === stepNumber) return undefined;
      state.refusedAt = stepNumber;
      outgrown.add(state);
      return { retry: true };
    },
  };
}

interface Sending extends Pick<SentRequest, "messages" | "model"> {
  readonly window: HistoryWindow<AiSdkMessage>;
}

/** The part of Mastra's own entry in a request's context that rkat reads. */
interface MastraContext {
  readonly thread?: { readonly id?: string };
  readonly memoryConfig?: { readonly lastMessages?: unknown; readonly generateTitle?: unknown };
}

function contextOf({ requestContext }: MastraStep): MastraContext {
  return (requestContext?.get("MastraMemory") ?? {}) as MastraContext;
}

function threadOf(step: MastraStep): string | undefined {
  return contextOf(step).thread?.id;
}

const UUID_AT_END = /-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * Whether another agent asks. For each question to a sub-agent, Mastra makes a thread of its own, named after the parent's, and
 * loads and titles nothing there.
 */
function isSubAgents(step: MastraStep): boolean {
  const { thread, memoryConfig } = contextOf(step);
  const isBare = memoryConfig?.lastMessages === false && memoryConfig.generateTitle === false;
  return isBare && UUID_AT_END.test(thread?.id ?? "");
}

/** Whether a message shows records of memory. A sub-agent is given what its parent's model was sent, and has records of its own. */
function isRecord(message: AiSdkMessage): boolean {
  return message.role === "user" && looksRecalled(AI_SDK_ROLES.userText(message) ?? "");
}

/** Without a thread, a chat is known by its first user message. */
function beginning(prompt: readonly AiSdkMessage[]): string {
  return jsonText(prompt.find(({ role }) => role === "user")?.content);
}

function mastraTool(tool: Tool) {
  const { name, description, input_schema } = tool.definition;
  const action = {
    id: name,
    description,
    inputSchema: input_schema,
    async execute(args: unknown, context: MastraStep = {}) {
      const chatId = threadOf(context) ?? "";
      const call = { chatId, id: newId(), signal: context.abortSignal };
      return (await outputOf(tool, args, call)).content;
    },
  };
  return [name, action] as const;
}
