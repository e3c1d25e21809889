import { SessionError } from "../core/errors.ts";
import type { HostRecord } from "../core/host-record.ts";
import { newId } from "../core/ids.ts";
import type { MemoryEntry } from "../core/memory-store.ts";
import { shown } from "../core/options.ts";
import type { Tool, ToolOutput } from "../core/tool.ts";
import { providerFailure } from "../models/provider-failure.ts";
import { createHistoryWindow } from "../window/create-history-window.ts";
import type { HistoryWindow, HistoryWindowOptions } from "../window/history-window.ts";
import type { WindowMemory } from "../window/window-recall.ts";

/** The way a host tells its chats apart: by an id of its own, by their first messages, or as one run of its loop. */
export type ChatName =
  | {
      readonly id: string;
      /** Another agent asks in it, and no person. */
      readonly isInner?: boolean;
      /** The person's demands in the chat of the agent that asks. */
      readonly demands?: () => readonly MemoryEntry[];
    }
  | { readonly begins: string }
  | { readonly run: object };

/** The place where the windows of chats keep their compactions, and the memory that comes back in them. */
export interface ChatRecords {
  recordOf(chatId: string, isInner: boolean): HostRecord;
  memoryFor(chatId: string): WindowMemory;
}

/** Chats whose windows a process keeps. */
export const CHATS_MAX = 200;

/** Levels of causes that are looked at: hosts wrap the errors of providers. */
const CAUSES_MAX = 8;

/**
 * The windows of a host's chats, and what happens when a provider refuses what one of them sends:
 *
 *     request ─► of(chat).apply ─► the model ─┬─► answer
 *                      ▲                      │
 *                      └── once more, less ◄──┘ "context too long"
 *
 * A process keeps the chats that were used last. A chat with an id comes back from its record. A chat that is
 * known by its beginning only is stored under a new id if `storesUnnamed` says so, and otherwise not at all.
 *
 * @throws SessionError `INVALID_PARAMS` for bad settings, when it is made and not with the first request
 */
export class HostChats<HostMessage extends object> {
  readonly #options: HistoryWindowOptions<HostMessage>;
  readonly #records: ChatRecords | undefined;
  readonly #storesUnnamed: boolean;
  readonly #byName = new RecentlyUsed<HistoryWindow<HostMessage>>(CHATS_MAX);
  readonly #byRun = new WeakMap<object, HistoryWindow<HostMessage>>();

  constructor(
    options: HistoryWindowOptions<HostMessage>,
    records?: ChatRecords,
    { storesUnnamed = true }: { readonly storesUnnamed?: boolean } = {},
  ) {
    this.#options = options;
    this.#records = records;
    this.#storesUnnamed = storesUnnamed;
    this.#open();
  }

  /** The maximum number of chats that are kept by their names. */
  get size(): number {
    return this.#byName.size;
  }

  /** The window of a chat. */
  of(chat: ChatName): HistoryWindow<HostMessage> {
    if ("run" in chat) {
      const window = this.#byRun.get(chat.run) ?? this.#open();
      this.#byRun.set(chat.run, window);
      return window;
    }
    return this.#byName.of(keyOf(chat), () => this.#open(chat));
  }

  /** From now on the window is found by this name too. */
  name(
    window: HistoryWindow<HostMessage>,
    chat: Exclude<ChatName, { readonly run: object }>,
  ): void {
    this.#byName.set(keyOf(chat), window);
  }

  #open(chat?: Exclude<ChatName, { readonly run: object }>): HistoryWindow<HostMessage> {
    const chatId = chat && "id" in chat ? chat.id : newId();
    const isInner = chat !== undefined && "id" in chat && chat.isInner === true;
    const isStored = chat !== undefined && ("id" in chat || this.#storesUnnamed);
    const { recordOf, memoryFor } = this.#records ?? {};
    return createHistoryWindow({
      ...this.#options,
      ...(recordOf && isStored ? { record: recordOf(chatId, isInner) } : {}),
      ...(memoryFor ? { memory: beginningWith(chat, memoryFor(chatId)) } : {}),
    });
  }
}

/** A memory whose records begin with what the person demanded where the chat was begun. */
function beginningWith(
  chat: Exclude<ChatName, { readonly run: object }> | undefined,
  memory: WindowMemory,
): WindowMemory {
  const { demands } = chat && "id" in chat ? chat : {};
  if (!demands) return memory;
  return { ...memory, pinned: async () => [...demands(), ...(await memory.pinned())] };
}

function keyOf(chat: { readonly id: string } | { readonly begins: string }): string {
  return "id" in chat ? `id ${chat.id}` : `begins ${chat.begins}`;
}

/**
 * The id that a host gives a chat, as a text. `undefined`: it gives none.
 *
 * @throws SessionError `INVALID_PARAMS` for a value whose text would be the same for all chats, such as a promise
 */
export function chatIdOf(name: string, given: unknown): string | undefined {
  if (given === undefined || given === null) return undefined;
  const id = typeof given === "function" ? "" : String(given);
  if (id !== "" && id !== "NaN" && !id.startsWith("[object ")) return id;
  throw new SessionError("INVALID_PARAMS", {
    message: `${name} is ${shown(given)}, which is no id of a chat.`,
    hint: "Give each chat a text of its own, and no promise of one.",
  });
}

/** Asks a provider, and once more with less when it refuses the request as too long. */
export async function askingAgain<Answer>(
  ask: () => PromiseLike<Answer> | Answer,
  askWithLess: () => Promise<Answer>,
): Promise<Awaited<Answer>> {
  try {
    return await ask();
  } catch (error) {
    if (!isTooLong(error)) throw error;
    return await askWithLess();
  }
}

/** Whether a provider refused a request as too long for the model. */
export function isTooLong(error: unknown): boolean {
  let at = error;
  for (let level = 0; level < CAUSES_MAX && at !== undefined; level += 1) {
    if (providerFailure(at, { id: "" }).code === "CONTEXT_WINDOW_EXCEEDED") return true;
    at = at instanceof Error ? at.cause : undefined;
  }
  return false;
}

/** The services of rkat's stores for the loop of another package: its tools, and the records of its chats. */
export interface HostMemory {
  /** Tools for the model: search messages, search outputs of tools. */
  readonly tools: readonly Tool[];
  /**
   * The record of a chat's window: its compactions, and the messages that it compacted. In an inner chat another agent
   * asks: nothing in it is a person's word.
   */
  recordOf(chatId: string, isInner?: boolean): HostRecord;
  /** The memory whose records come back by themselves in a chat. */
  memoryFor(chatId: string): WindowMemory;
  /** Finishes the work on recorded messages. The stores stay open. */
  close(): Promise<void>;
}

/** Runs a tool. A failure becomes a result that the model reads. */
export async function outputOf(
  tool: Tool,
  args: unknown,
  call: { readonly chatId: string; readonly id: string; readonly signal?: AbortSignal | undefined },
): Promise<ToolOutput> {
  const signal = call.signal ?? new AbortController().signal;
  try {
    const output = await tool.execute(args, { sessionId: call.chatId, toolUseId: call.id, signal });
    return typeof output === "string" ? { content: output, is_error: false } : output;
  } catch (error) {
    signal.throwIfAborted();
    return { content: `${tool.definition.name} failed: ${String(error)}`, is_error: true };
  }
}

/** Values by their keys. The longest unused are dropped first. */
export class RecentlyUsed<Value> {
  readonly #values = new Map<string, Value>();
  readonly #max: number;

  /** Keeps this many values. */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#values.size;
  }

  /** The value of a key; made by `open` if it is not there. */
  of(key: string, open: () => Value): Value {
    const value = this.#values.get(key) ?? open();
    this.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= this.#max) break;
      this.#values.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#values.delete(key);
  }
}
