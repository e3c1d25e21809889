import type { Summarize } from "../compaction/compact-history.ts";
import type { HistoryCompaction } from "../compaction/compact-history-options.ts";
import { requestText } from "../compaction/summary-request.ts";
import type { SummaryRequest } from "../compaction/write-summary.ts";
import { SessionError } from "../core/errors.ts";
import { isObject } from "../core/fields.ts";
import type { HostItems, HostRecord } from "../core/host-record.ts";
import type { Message } from "../core/message.ts";
import { looksRecalled, recalledText } from "../core/recalled.ts";
import { createHistoryWindow } from "../window/create-history-window.ts";
import type { HistoryWindow, HistoryWindowOptions } from "../window/history-window.ts";
import { definedTokens, requireMessages } from "./host-messages.ts";
import {
  isReadableBy,
  itemView,
  type ModelKind,
  messageOfItem,
  type OpenAIItem,
  userItem,
  userText,
} from "./openai-items.ts";
import { isOtherReader } from "./provider-summary.ts";

export interface OpenAICompaction extends HistoryCompaction {
  /** Tokens that the model takes. Without an `autoCompactThreshold`, 80 % of it is the threshold. */
  readonly contextWindow?: number;
  /** Estimated tokens of tools that the agent does not list itself, such as those of MCP servers. */
  readonly otherTokens?: number;
  /** Writes summaries: a `Model` of the Agents SDK. Default for a filter: the agent's, if it is such an object. */
  readonly model?: OpenAIModel;
  /** Replaces `model`: your own function, or `"fallback"` for summaries without a model. */
  readonly summarize?: Summarize | "fallback";
}

/** A `callModelInputFilter`. */
export interface RkatFilter {
  <Item extends OpenAIItem>(call: FilteredCall<Item>): Promise<FilteredCall<Item>["modelData"]>;
  /** Items come as the same objects in each call of a run, so that none is read twice. */
  readonly preserveInputIdentity: true;
}

interface FilteredCall<Item> {
  readonly modelData: { input: Item[]; instructions?: string };
  readonly agent: object;
}

/** The window behind a filter or a session, and the writer of its summaries. */
export function itemWindow(
  options: OpenAICompaction,
  recalls: Pick<HistoryWindowOptions<OpenAIItem>, "memory" | "record"> = {},
): HistoryWindow<OpenAIItem> {
  const { model: _, summarize, ...settings } = options;
  const summarizer = summarizerOf(options);
  return createHistoryWindow({
    ...settings,
    ...recalls,
    view: itemView,
    ...(summarizer ? { summarize: summarizer } : {}),
  });
}

/** A filter with a window that a session may share, so that what one of them compacted costs the other nothing. */
export function inputFilter(
  options: OpenAICompaction,
  window: HistoryWindow<OpenAIItem> = itemWindow(options),
  records?: SentRecords,
): RkatFilter {
  const filter = async <Item extends OpenAIItem>({ modelData, agent }: FilteredCall<Item>) => {
    const { input, instructions } = modelData;
    requireMessages("modelData.input of the Agents SDK", input);
    const summarize = summarizerOf(options) ?? summarizeWith(modelOf(agent));
    const otherTokens = definedTokens(instructions, toolsOf(agent));
    const name: unknown = Reflect.get(agent, "model");
    const model = typeof name === "string" && name !== "" ? { model: name } : {};
    const kind = kindOf(agent);
    const history = input.filter((item) => isReadableBy(kind, item));
    const { messages, recalled } = await window.apply(history, {
      otherTokens,
      summarize,
      edited: isOtherReader(window, kind),
      ...model,
    });
    records?.sent(recalled);
    return { ...modelData, input: [...messages] as Item[] };
  };
  return Object.assign(filter, { preserveInputIdentity: true as const });
}

export function summarizerOf({
  model,
  summarize,
}: Pick<OpenAICompaction, "model" | "summarize">): Summarize | "fallback" | undefined {
  return summarize ?? (model && summarizeWith(model));
}

function modelOf(agent: object): OpenAIModel {
  const model: unknown = Reflect.get(agent, "model");
  if (typeof model === "object" && model !== null && "getResponse" in model) {
    return model as OpenAIModel;
  }
  throw new SessionError("INVALID_PARAMS", {
    message: "rkatFilter does not know who writes summaries: the agent has its model as a name.",
    hint: 'Pass `model`, such as `new OpenAIResponsesModel(client, "gpt-5")`, or `summarize: "fallback"` for summaries without a model.',
  });
}

/** The classes of the Agents SDK and of its adapter for models of the AI SDK. */
const KINDS: readonly (readonly [RegExp, ModelKind])[] = [
  [/^OpenAIResponses/, "responses"],
  [/^(?:OpenAIChatCompletionsModel|AiSdkModel)$/, "other"],
];

function kindOf(agent: object): ModelKind {
  const model: unknown = Reflect.get(agent, "model");
  const name = isObject(model) ? model.constructor.name : "";
  return KINDS.find(([classes]) => classes.test(name))?.[1];
}

/** The agent's tools in a request. */
function toolsOf(agent: object): readonly unknown[] {
  const tools: unknown = Reflect.get(agent, "tools");
  if (!Array.isArray(tools)) return [];
  return tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
}

/** The part of a `Model` of the Agents SDK that a summary needs. */
export interface OpenAIModel {
  getResponse(request: never): Promise<{ readonly output: readonly OpenAIItem[] }>;
}

/** Asks a model of the Agents SDK for summaries. */
function summarizeWith(model: OpenAIModel): Summarize {
  return async ({ messages, maxTokens, signal }: SummaryRequest) => {
    const request = {
      input: [userItem(requestText(messages))],
      // The answer is not asked for again.
      modelSettings: { maxTokens, store: false },
      tools: [],
      outputType: "text",
      handoffs: [],
      tracing: false,
      signal,
    };
    const { output } = await model.getResponse(request as never);
    return output.map(messageOfItem).flatMap(answerText).join("\n");
  };
}

function answerText(message: Message | undefined): readonly string[] {
  if (message?.role !== "block_assistant") return [];
  return message.blocks.flatMap((block) => (block.block_type === "text" ? [block.data.text] : []));
}

/** Texts that are known again when the SDK gives them to the session. */
const TEXTS_MAX = 256;

/**
 * The items with records of memory that a filter has added. The SDK gives copies of them to the session as input of
 * the user. The session leaves them out:
 *
 *     filter   U A [records] U  ─► the model
 *     SDK      [records] U A    ─► addItems: U A
 *
 * Another process may have added them, before a run was interrupted and resumed here. The chat's log has those.
 */
export class SentRecords {
  readonly #texts = new Set<string>();
  readonly #record: Pick<HostRecord, "read">;

  constructor(record: Pick<HostRecord, "read">) {
    this.#record = record;
  }

  sent(items: readonly object[]): void {
    for (const item of items) this.#texts.add(userText(item));
    for (const oldest of this.#texts) {
      if (this.#texts.size <= TEXTS_MAX) return;
      this.#texts.delete(oldest);
    }
  }

  /** Without those that were sent. What a person typed stays, whatever it looks like. */
  async without<Item>(items: readonly Item[]): Promise<readonly Item[]> {
    const others = items.filter((item) => !this.#texts.has(recordsIn(item)));
    if (!others.some((item) => recordsIn(item) !== "")) return others;
    const { recalled } = await this.#record.read();
    const texts = recalled.flatMap(({ event, whole }) => [event.records, whole.records]);
    const sent = new Set(texts.map(recalledText));
    return others.filter((item) => recordsIn(item) === "" || !sent.has(recordsIn(item)));
  }
}

/** The text of an item that looks like records; empty for others. */
function recordsIn(item: unknown): string {
  if (typeof item !== "object" || item === null) return "";
  const text = userText(item);
  return looksRecalled(text) ? text : "";
}

/**
 * The record of a window whose session keeps its items itself: of what the window changes, it takes the records of
 * memory. A process sends those that it has looked up since its last compaction. The next process looks again.
 */
export function recordOfRecalled(record: HostRecord): HostRecord {
  /** The last event that does not count any more. */
  let since: number | undefined;
  const read = async (): Promise<HostItems> => {
    const now = await record.read();
    since ??= lastOf(now);
    const from = since;
    const recalled = now.recalled.filter(({ seq }) => seq > from);
    const { changedAtMs, refused } = now;
    return { items: NO_ITEMS, changedAtMs, recalled, refused, done: () => "no" };
  };
  return {
    read,
    async change(decide) {
      const { recalled } = decide(await read()) ?? {};
      // Without records it is a compaction, which takes away what was recalled.
      if (recalled) await record.change(() => ({ items: [], recalled }));
      else since = lastOf(await record.read());
    },
  };
}

const NO_ITEMS: readonly unknown[] = [];

function lastOf({ recalled }: HostItems): number {
  return recalled.at(-1)?.seq ?? 0;
}
