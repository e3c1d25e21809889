import type { Summarize } from "../compaction/compact-history.ts";
import type { HistoryCompaction } from "../compaction/compact-history-options.ts";
import { SessionError } from "../core/errors.ts";
import { isObject } from "../core/fields.ts";
import type { HostItems, HostRecord } from "../core/host-record.ts";
import type { PriceTable } from "../core/prices.ts";
import { looksRecalled, recalledText } from "../core/recalled.ts";
import { createHistoryWindow } from "../window/create-history-window.ts";
import type {
  AppliedWindow,
  ApplyOptions,
  HistoryWindow,
  HistoryWindowOptions,
} from "../window/history-window.ts";
import { definedTokens, requireMessages } from "./host-messages.ts";
import {
  isReadableBy,
  itemView,
  type ModelKind,
  type OpenAIItem,
  userText,
} from "./openai-items.ts";
import {
  continuedModel,
  isSameModel,
  type LastRequest,
  type ModelRequest,
  type OpenAIModel,
  requestsOf,
  summarizeWith,
} from "./openai-model.ts";
import { cachedBy, isOtherReader, summaryByProvider, WithoutAnswer } from "./provider-summary.ts";

export interface OpenAICompaction extends HistoryCompaction {
  /** Tokens that the model takes. Without an `autoCompactThreshold`, 80 % of it is the threshold. */
  readonly contextWindow?: number;
  /** Estimated tokens of tools that the agent does not list itself, such as those of MCP servers. */
  readonly otherTokens?: number;
  /** Writes summaries: a `Model` of the Agents SDK. Default for a filter: the agent's, if it is such an object. */
  readonly model?: OpenAIModel;
  /** Prices of models that rkat does not know, by `openai/model`. They decide where the model is an `rkatModel`. */
  readonly prices?: PriceTable;
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

/** The window behind a filter or a session, so that what one of them compacted costs the other nothing. */
export class ItemWindow {
  readonly #options: OpenAICompaction;
  readonly #window: HistoryWindow<OpenAIItem>;
  readonly #without = new WithoutAnswer();
  /** The model of the last call of a run, and what it was sent besides the items. */
  #asked: { readonly model: unknown; readonly otherTokens: number } | undefined;
  /** The request whose count the window has. */
  #learned: LastRequest | undefined;

  constructor(
    options: OpenAICompaction,
    recalls: Pick<HistoryWindowOptions<OpenAIItem>, "memory" | "record"> = {},
  ) {
    const { model: _, summarize, ...settings } = options;
    this.#options = options;
    const writer = writerOf(options);
    this.#window = createHistoryWindow({
      ...settings,
      ...recalls,
      view: itemView,
      ...(writer ? { summarize: writer } : {}),
    });
  }

  /** The items that a call of a run is sent. `records` is told which of them are records of memory. */
  async sent<Item extends OpenAIItem>(
    { modelData: { input, instructions }, agent }: FilteredCall<Item>,
    records?: SentRecords,
  ): Promise<readonly OpenAIItem[]> {
    requireMessages("modelData.input of the Agents SDK", input);
    const model: unknown = Reflect.get(agent, "model");
    const kind = kindOf(model);
    const requests = requestsOf(model);
    // A request has handoffs and the tools of MCP servers too.
    const shown = requests?.lastOf(this)?.request ?? { tools: Reflect.get(agent, "tools") };
    const otherTokens = definedTokens(instructions, definedIn(shown));
    this.#asked = { model, otherTokens };
    const history = input.filter((item) => isReadableBy(kind, item));
    const apply = async (more: ApplyOptions) => {
      const { messages, recalled } = await this.#apply(history, { otherTokens, ...more });
      records?.sent(recalled);
      return messages;
    };
    const edited = isOtherReader(this, kind);
    const items = await apply({ edited });
    const less = () => apply({ outgrown: true });
    requests?.sends(this, { items, offered: history.length, less });
    return items;
  }

  /** The items that a session goes on with after a turn, without records of memory. */
  async kept<Item extends OpenAIItem>(
    items: readonly Item[],
    { force }: { readonly force: boolean },
  ): Promise<readonly Item[]> {
    const { otherTokens = 0 } = this.#asked ?? {};
    const { messages, recalled } = await this.#apply(items, { force, otherTokens });
    const records = new Set(recalled);
    return messages.filter((item): item is Item => !records.has(item));
  }

  async #apply(
    items: readonly OpenAIItem[],
    options: ApplyOptions,
  ): Promise<AppliedWindow<OpenAIItem>> {
    const { model: writer, summarize } = this.#options;
    const { model = writer } = this.#asked ?? {};
    const requests = requestsOf(model);
    const name = requests?.id ?? model;
    const last = requests?.lastOf(this);
    const own = writerOf(this.#options) ?? summarizeWith(requireWriter(model));
    const isWriters = summarize === undefined && (!writer || isSameModel(writer, model));
    const itself =
      requests && isWriters ? continuedModel(requests.model, last, this.#without) : undefined;
    // Where the user took turns back, the count is of a history with those.
    const isNew = last !== this.#learned && items.length > (last?.offered ?? 0);
    this.#learned = last;
    return await this.#window.apply(items, {
      ...options,
      ...(typeof name === "string" && name !== "" ? { model: name } : {}),
      summarize: summaryByProvider(itself, own, this.#without),
      lastInputTokens: (isNew ? last?.counted?.tokens : undefined) ?? 0,
      cached: last && cachedBy(last.model, last),
    });
  }
}

/** A filter with a window that a session may share. */
export function inputFilter(window: ItemWindow, records?: SentRecords): RkatFilter {
  const filter = async <Item extends OpenAIItem>(call: FilteredCall<Item>) => {
    const items = await window.sent(call, records);
    return { ...call.modelData, input: [...items] as Item[] };
  };
  return Object.assign(filter, { preserveInputIdentity: true as const });
}

/** The writer of summaries, if the options name one. */
export function writerOf({
  model,
  summarize,
}: Pick<OpenAICompaction, "model" | "summarize">): Summarize | "fallback" | undefined {
  return summarize ?? (model && summarizeWith(model));
}

function requireWriter(model: unknown): OpenAIModel {
  if (isObject(model) && "getResponse" in model) return model as never;
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

function kindOf(model: unknown): ModelKind {
  const name = isObject(model) ? model.constructor.name : "";
  return KINDS.find(([classes]) => classes.test(name))?.[1];
}

/** Tools and handoffs as the provider gets them. */
function definedIn({ tools, handoffs = [] }: Pick<ModelRequest, "handoffs"> & { tools?: unknown }) {
  const all = Array.isArray(tools) ? tools : [];
  return [
    ...all.map(({ name, description, parameters }) => ({ name, description, parameters })),
    ...handoffs,
  ];
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
