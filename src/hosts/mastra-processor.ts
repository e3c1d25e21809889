import type { HostRecord } from "../core/host-record.ts";
import { newId } from "../core/ids.ts";
import type { Tool } from "../core/tool.ts";
import type { AiSdkMessage } from "../models/model-messages.ts";
import { providerFailure } from "../models/provider-failure.ts";
import {
  createHistoryWindow,
  type HistoryWindow,
  type HistoryWindowOptions,
} from "../window/history-window.ts";
import { aiSdkView } from "./ai-sdk-view.ts";
import { modelOptions, sentOf } from "./ai-sdk-windows.ts";
import { type HostMemory, outputOf } from "./host-memory.ts";
import { RecentChats } from "./recent-chats.ts";
import { requireMessages } from "./require-messages.ts";

export interface MastraProcessorOptions extends Omit<HistoryWindowOptions<AiSdkMessage>, "view"> {
  readonly memory?: HostMemory;
}

/** What rkat reads of what Mastra gives its processors. */
export interface MastraStep {
  readonly requestContext?: { get(key: string): unknown } | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

export interface MastraRequest extends MastraStep {
  readonly prompt: readonly AiSdkMessage[];
  readonly model: unknown;
  readonly steps: readonly { readonly usage?: { readonly inputTokens?: number | undefined } }[];
  /** Of one run of the agent. */
  readonly state: Record<string, unknown>;
}

export interface MastraRejection extends MastraStep {
  readonly error: unknown;
  readonly stepNumber: number;
  readonly state: Record<string, unknown>;
}

/**
 * A processor for Mastra's agents: compacts what the model is sent. What Mastra saves stays whole.
 *
 *     processLLMRequest   the window decides ─► the model answers
 *                                ▲                    │
 *     processAPIError            └── compact more ◄───┘ "context too long"
 */
export function mastraProcessor({ memory, ...options }: MastraProcessorOptions) {
  const { contextWindow, summarize } = options;
  const open = (record?: HostRecord) =>
    createHistoryWindow({ ...options, view: aiSdkView, ...(record ? { record } : {}) });
  open(); // Bad settings are refused here, not in the first run.
  const chats = new RecentChats<HistoryWindow<AiSdkMessage>>();
  /** Runs whose last request was refused as too long. */
  const outgrown = new WeakSet<object>();

  return {
    id: "rkat",
    name: "rkat",
    /** Before you close the stores. */
    close: async () => memory?.close(),
    /** For the agent's `tools`: the model searches what left. */
    tools: Object.fromEntries((memory?.tools ?? []).map(mastraTool)),

    async processLLMRequest<Prompt extends readonly AiSdkMessage[]>(
      request: MastraRequest & { readonly prompt: Prompt },
    ): Promise<{ prompt: Prompt }> {
      const { prompt, model, steps, state, abortSignal } = request;
      requireMessages("Mastra's prompt", prompt);
      const thread = threadOf(request);
      const key = thread ? `thread ${thread}` : `begins ${beginning(prompt)}`;
      const window = chats.of(key, () => open(memory?.recordOf(thread ?? newId())));
      const lastInputTokens = steps.at(-1)?.usage?.inputTokens;
      const sent = await sentOf(window, prompt, {
        ...modelOptions(model, { contextWindow, summarize }),
        outgrown: outgrown.delete(state),
        ...(lastInputTokens === undefined ? {} : { lastInputTokens }),
        ...(abortSignal ? { signal: abortSignal } : {}),
      });
      return { prompt: sent as Prompt };
    },

    async processAPIError({
      error,
      state,
      stepNumber,
    }: MastraRejection): Promise<{ retry: boolean } | undefined> {
      const { code } = providerFailure(error, { id: "" });
      if (code !== "CONTEXT_WINDOW_EXCEEDED" || state.refusedAt === stepNumber) return undefined;
      state.refusedAt = stepNumber;
      outgrown.add(state);
      return { retry: true };
    },
  };
}

function threadOf({ requestContext }: MastraStep): string | undefined {
  const context = requestContext?.get("MastraMemory");
  const { thread } = (context ?? {}) as { readonly thread?: { readonly id?: string } };
  return thread?.id;
}

/** Without a thread, a chat is known by its first user message. */
function beginning(prompt: readonly AiSdkMessage[]): string {
  return JSON.stringify(prompt.find(({ role }) => role === "user")?.content);
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
