import { SessionError } from "../core/errors.ts";
import type { DurableEvent, HostItemsChanged, StoredEvent } from "../core/event.ts";
import type { EventStore } from "../core/event-store.ts";
import type {
  HostChange,
  HostItems,
  HostOperation,
  HostRecalled,
  HostRecord,
  ReadHostItem,
} from "../core/host-record.ts";
import { withinNesting } from "../core/json-values.ts";
import { type Message, type ToolUse, toolResults, toolUses } from "../core/message.ts";
import { recordsWithin } from "../core/recalled.ts";

import { WorkQueue } from "../core/work-queue.ts";
import { hashOf } from "../knowledge/hash-of.ts";
import type { SessionWork } from "./session-work.ts";

interface Deps {
  readonly events: Pick<EventStore, "lastSeq" | "read">;
  readonly work: Pick<SessionWork, "runAfterTurn">;
  /** Creates the session. */
  readonly create: () => Promise<unknown>;
}

/** The list of a host's items in a session's log. The session is created when the list first changes. */
export class SessionHostRecord implements HostRecord {
  readonly #sessionId: string;
  readonly #read: ReadHostItem;
  readonly #deps: Deps;
  #items: FoldedHostItems;
  /** Changes and reads of this process come one after the other. */
  readonly #changes = new WorkQueue();

  constructor(sessionId: string, read: ReadHostItem, deps: Deps) {
    this.#sessionId = sessionId;
    this.#read = read;
    this.#deps = deps;
    this.#items = new FoldedHostItems(read);
  }

  read(): Promise<HostItems> {
    return this.#changes.run(() => this.#caughtUp());
  }

  change(decide: (now: HostItems) => HostChange | undefined): Promise<void> {
    return this.#changes.run(async () => {
      if ((await this.#deps.events.lastSeq(this.#sessionId)) === 0) await this.#create();
      await this.#deps.work.runAfterTurn(this.#sessionId, async (session) => {
        const items = await this.#caughtUp();
        const change = decide(items);
        if (change) await session.commit(items.eventsOf(change));
      });
    });
  }

  async #caughtUp(): Promise<FoldedHostItems> {
    const { events } = this.#deps;
    const lastSeq = await events.lastSeq(this.#sessionId);
    if (lastSeq < this.#items.seq) this.#items = new FoldedHostItems(this.#read);
    for await (const stored of events.read(this.#sessionId, this.#items.seq)) {
      this.#items.apply(stored);
    }
    if (!this.#items.isOutdated) return this.#items;
    this.#items = new FoldedHostItems(this.#read);
    for await (const stored of events.read(this.#sessionId, 0)) this.#items.apply(stored);
    this.#items.isOutdated = false;
    return this.#items;
  }

  /** Where two processes create the session at once, one succeeds. */
  async #create(): Promise<void> {
    try {
      await this.#deps.create();
    } catch (error) {
      if (!SessionError.is(error) || error.code !== "SESSION_CONFLICT") throw error;
    }
  }
}

/** Records of earlier prompts left the window long ago. */
const RECALLED_MAX = 64;

type MessageAdded = Extract<DurableEvent, { type: "message_added" }>;

/** The fold of a session's log into the list of items that a host keeps in it. */
class FoldedHostItems implements HostItems {
  /** The last event that was read. */
  seq = 0;
  changedAtMs = 0;
  /** Texts were forgotten, so the log has to be read again. */
  isOutdated = false;
  readonly #read: ReadHostItem;
  #items: unknown[] = [];
  /** The hash of each item. */
  #hashes: string[] = [];
  #recalled: readonly HostRecalled[] = [];
  #refused: ReadonlySet<string> = new Set();
  readonly #operations = new Map<string, string>();
  /** By hash: how many equal items stand in the list, and how many once stood in it together. */
  readonly #counts = new Map<string, { now: number; most: number }>();
  /** Calls of items whose results have not come. */
  readonly #openCalls = new Map<string, ToolUse>();

  constructor(read: ReadHostItem) {
    this.#read = read;
  }

  get items(): readonly unknown[] {
    return this.#items;
  }

  get recalled(): readonly HostRecalled[] {
    return this.#recalled;
  }

  get refused(): ReadonlySet<string> {
    return this.#refused;
  }

  done({ id, change }: HostOperation): "same" | "other" | "no" {
    const known = this.#operations.get(hashOf(id));
    if (known === undefined) return "no";
    return known === hashOf(change) ? "same" : "other";
  }

  apply({ seq, timestamp_ms, event }: StoredEvent): void {
    this.seq = seq;
    if (event.type === "text_forgotten") this.isOutdated = true;
    if (event.type === "memory_recalled") {
      const recalled = { seq, itemCount: this.#items.length, event, whole: event };
      this.#recalled = [...this.#recalled, this.#withoutRefused(recalled)].slice(-RECALLED_MAX);
    }
    if (event.type === "recall_refused") {
      this.#refuse(new Set([...this.#refused, ...event.records]));
    }
    if (event.type === "recall_allowed") {
      this.#refuse(new Set([...this.#refused].filter((id) => !event.records.includes(id))));
    }
    if (event.type !== "host_items_changed") return;
    this.changedAtMs = timestamp_ms;
    if (event.restarts) this.#operations.clear();
    for (const item of this.#newOf(event)) takeCalls(this.#read(item)?.message, this.#openCalls);
    const { from, count } = event.replaced ?? { from: this.#items.length, count: 0 };
    const hashes = event.items.map((item) => hashOf(item));
    for (const hash of this.#hashes.slice(from, from + count)) this.#count(hash, -1);
    for (const hash of hashes) this.#count(hash, 1);
    this.#items = spliced(this.#items, from, count, event.items);
    this.#hashes = spliced(this.#hashes, from, count, hashes);
    if (event.operation) this.#operations.set(event.operation.id, event.operation.change);
  }

  #refuse(refused: ReadonlySet<string>): void {
    this.#refused = refused;
    this.#recalled = this.#recalled.map((recalled) => this.#withoutRefused(recalled));
  }

  #withoutRefused(recalled: HostRecalled): HostRecalled {
    const { event, whole } = recalled;
    const left = whole.records.filter(({ id }) => !this.#refused.has(id));
    if (left.length === event.records.length) return recalled;
    if (left.length === whole.records.length) return { ...recalled, event: whole };
    const { records, tokens } = recordsWithin(Number.POSITIVE_INFINITY, left, (each) => each);
    return { ...recalled, event: { ...whole, records, tokens: left.length === 0 ? 0 : tokens } };
  }

  #count(hash: string, by: number): void {
    const counts = this.#counts.get(hash) ?? { now: 0, most: 0 };
    counts.now += by;
    counts.most = Math.max(counts.most, counts.now);
    this.#counts.set(hash, counts);
  }

  /** The events of a change: the items, and the messages that they say. */
  eventsOf({ operation, items, recalled, ...change }: HostChange): readonly DurableEvent[] {
    if (recalled && items.length === 0 && !change.replaced) return [recalled];
    const hashes = operation && { id: hashOf(operation.id), change: hashOf(operation.change) };
    const changed: HostItemsChanged = {
      type: "host_items_changed",
      ...change,
      items: items.map((item) => withinNesting(item)),
      ...(hashes ? { operation: hashes } : {}),
    };
    const open = new Map(this.#openCalls);
    return [
      changed,
      ...this.#newOf(changed).flatMap((item) => this.#messagesOf(item, open)),
      ...(recalled ? [recalled] : []),
    ];
  }

  /** The items that were not in the list before. One that is put back, or moved, is not new. */
  #newOf({ replaced, items }: HostItemsChanged): readonly unknown[] {
    const counts = new Map<string, number>();
    const countOf = (hash: string) => counts.get(hash) ?? this.#counts.get(hash)?.now ?? 0;
    const { from, count } = replaced ?? { from: 0, count: 0 };
    for (const hash of this.#hashes.slice(from, from + count)) counts.set(hash, countOf(hash) - 1);
    return items.filter((item) => {
      const hash = hashOf(item);
      counts.set(hash, countOf(hash) + 1);
      return countOf(hash) > (this.#counts.get(hash)?.most ?? 0);
    });
  }

  #messagesOf(item: unknown, open: Map<string, ToolUse>): readonly MessageAdded[] {
    const said = this.#read(item);
    if (!said) return [];
    const origin = said.origin ? { origin: said.origin } : {};
    return takeCalls(said.message, open).map((message) => ({
      type: "message_added",
      message,
      ...origin,
    }));
  }
}

/**
 * The messages by which a message gets into a history. A tool call waits in `open` for its result,
 * because no provider takes a history with a call that has none. What they say comes at once.
 */
function takeCalls(said: Message | undefined, open: Map<string, ToolUse>): readonly Message[] {
  if (!said) return [];
  // Arguments may have been the text of a deep value.
  const message = withinNesting(said);
  for (const call of toolUses(message)) open.set(call.id, call);
  if (message.role === "assistant") return message.content === "" ? [] : [withoutCalls(message)];
  if (message.role === "block_assistant") {
    const blocks = message.blocks.filter(({ block_type }) => block_type !== "tool_use");
    return blocks.length === 0 ? [] : [{ ...message, blocks, stop_reason: "end_turn" }];
  }
  if (message.role !== "tool_results") return [message];
  const answered = toolResults(message).flatMap((result) => {
    const call = open.get(result.tool_use_id);
    open.delete(result.tool_use_id);
    return call ? [{ call, result }] : [];
  });
  if (answered.length === 0) return [];
  const blocks = answered.map(({ call }) => ({ block_type: "tool_use", data: call }) as const);
  return [
    { role: "block_assistant", blocks, stop_reason: "tool_use" },
    { role: "tool_results", results: answered.map(({ result }) => result) },
  ];
}

function withoutCalls(message: Extract<Message, { role: "assistant" }>): Message {
  return { role: "assistant", content: message.content };
}

function spliced<T>(list: T[], from: number, count: number, added: readonly T[]): T[] {
  // Most changes add at the end, and that must not cost what the list has.
  if (from === list.length && count === 0) {
    for (const item of added) list.push(item);
    return list;
  }
  return [...list.slice(0, from), ...added, ...list.slice(from + count)];
}
