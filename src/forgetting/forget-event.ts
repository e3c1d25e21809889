import type { AllowedCalls } from "../core/approval.ts";
import type {
  BesideMessages,
  DurableEvent,
  HistoryInherited,
  HostItemsChanged,
  StandingInstruction,
} from "../core/event.ts";
import { changedJson, type JsonChange, jsonText } from "../core/json-values.ts";
import { FORGOTTEN, indexableText, isRecall, toolResults } from "../core/message.ts";
import {
  blocksWithout,
  type Extent,
  emptiedJson,
  forgottenMessage,
  inJson,
  messageWithoutCopies,
  messageWithoutPhrases,
  textChange,
} from "./forget-message.ts";
import type { ForgottenPhrases } from "./forgotten-phrases.ts";

/** The words of people, models and tools in an event. They are forgotten with it. */
export function textsOf(event: DurableEvent): readonly string[] {
  return rowOf(event).said?.(event) ?? [];
}

/** The event with the marker in the place of its words, or of the phrases in them. */
export function forgottenEvent(
  event: DurableEvent,
  extent: Extent,
  phrases: ForgottenPhrases,
): DurableEvent {
  const { forgotten, without } = rowOf(event);
  // A phrase that cannot be found, for example because a key in it was redacted, takes the whole text along.
  const cut = extent === "phrases" ? without?.(event, phrases) : undefined;
  if (cut && !isSame(cut, event)) return cut;
  return forgotten?.(event, extent) ?? event;
}

/**
 * The event without copies of forgotten texts: in summaries, tool arguments and results, reasoning,
 * task records and system prompts. The words of people and models are not copies and stay. An
 * event without copies comes back as the same object.
 */
export function withoutCopies(event: DurableEvent, phrases: ForgottenPhrases): DurableEvent {
  const copied = rowOf(event).copies?.(event, phrases) ?? event;
  return copied === event || isSame(copied, event) ? event : copied;
}

interface Row<Event> {
  readonly said?: (event: Event) => readonly string[];
  readonly forgotten?: (event: Event, extent: Extent) => Event;
  /** The event without phrases that are a part of its words. */
  readonly without?: (event: Event, phrases: ForgottenPhrases) => Event;
  readonly copies?: (event: Event, phrases: ForgottenPhrases) => Event;
}

type Rows = {
  readonly [Type in DurableEvent["type"]]: Row<Extract<DurableEvent, { readonly type: Type }>>;
};

/** Whether the results of a tool quote memory, logs or the task record, sometimes in parts. */
export function quotesMemory(tool: string): boolean {
  return isRecall(tool) || tool === "update_task";
}

/** Has ids, numbers and tool names, but no text. */
const NO_TEXT = {};

/** The texts in each type of event, and how they are forgotten. */
export const FORGETTING: Rows = {
  session_created: {
    forgotten: (event, extent) => (extent === "everything" ? untitled(event) : event),
    // An agent may make a title from the conversation.
    copies: titleWithout,
  },
  session_archived: NO_TEXT,
  session_unarchived: NO_TEXT,
  session_deleted: NO_TEXT,
  session_remembered: NO_TEXT,
  session_titled: {
    forgotten: (event, extent) => (extent === "everything" ? untitled(event) : event),
    copies: titleWithout,
  },
  message_added: {
    said: ({ message }) => [
      indexableText(message),
      ...toolResults(message).map(({ content }) => content),
    ],
    forgotten: ({ instructions: _, ...event }, extent) => ({
      ...event,
      message: forgottenMessage(event.message, extent),
    }),
    without: ({ instructions, ...event }, phrases) => ({
      ...event,
      message: messageWithoutPhrases(event.message, phrases),
      ...(instructions ? { instructions: heldWithout(instructions, phrases) } : {}),
    }),
    copies: (event, phrases) => ({
      ...event,
      message: messageWithoutCopies(event.message, phrases),
    }),
  },
  host_items_changed: {
    // The words are those of messages beside it, and are forgotten with them.
    copies: (event, phrases) => ({
      ...event,
      items: hostItemsWithout(event.items, phrases),
    }),
  },
  skills_resolved: NO_TEXT,
  knowledge_applied: NO_TEXT,
  run_started: {
    said: ({ prompt }) => [prompt],
    forgotten: ({ content: _, instructions: __, ...event }) => ({ ...event, prompt: FORGOTTEN }),
    without: ({ instructions, ...event }, phrases) => ({
      ...event,
      prompt: phrases.removeFrom(event.prompt, "whole"),
      ...(instructions ? { instructions: heldWithout(instructions, phrases) } : {}),
      ...(event.content ? { content: blocksWithout(event.content, phrases) } : {}),
    }),
  },
  run_completed: {
    copies: (event, phrases) => ({ ...event, result: phrases.removeFrom(event.result, "whole") }),
  },
  run_failed: { copies: errorWithout },
  run_paused: NO_TEXT,
  run_resumed: NO_TEXT,
  turn_started: NO_TEXT,
  reasoning_complete: {
    // The provider's signature of the old text would not fit the marker.
    forgotten: ({ type }) => ({ type, content: FORGOTTEN }),
    copies: (event, phrases) => {
      const content = phrases.removeFrom(event.content, "whole");
      return content === event.content ? event : { type: event.type, content };
    },
  },
  text_complete: {
    said: ({ content }) => [content],
    forgotten: ({ type }) => ({ type, content: FORGOTTEN }),
  },
  tool_call_requested: {
    forgotten: ({ meta: _, ...call }, extent) =>
      extent === "everything" ? { ...call, args: emptiedJson(call.args) } : call,
    copies: (event, phrases) => ({ ...event, args: argsWithout(event.args, phrases) }),
  },
  turn_completed: NO_TEXT,
  tool_approval_requested: {
    forgotten: (event, extent) =>
      extent === "everything"
        ? { ...event, args: emptiedJson(event.args), goal: FORGOTTEN }
        : event,
    copies: (event, phrases) => ({
      ...event,
      args: argsWithout(event.args, phrases),
      // A shortened copy of the user's words.
      goal: phrases.removeFrom(event.goal, "part"),
    }),
  },
  tool_approval_resolved: {
    forgotten: (event, extent) => {
      if (extent !== "everything") return event;
      // A call that was allowed by its command needs approval again.
      const { allows: _, reason, ...rest } = event;
      return reason === undefined ? rest : { ...rest, reason: FORGOTTEN };
    },
    copies: (event, phrases) => ({
      ...event,
      ...(event.reason === undefined ? {} : { reason: phrases.removeFrom(event.reason, "whole") }),
      ...(event.allows === undefined ? {} : { allows: callsWithout(event.allows, phrases) }),
    }),
  },
  approval_revoked: { copies: callsWithout },
  tool_execution_started: NO_TEXT,
  tool_execution_completed: {
    said: ({ result }) => [result],
    forgotten: (event) => ({ ...event, result: FORGOTTEN }),
    copies: (event, phrases) => {
      const of = quotesMemory(event.name) ? "part" : "whole";
      return { ...event, result: phrases.removeFrom(event.result, of) };
    },
  },
  tool_execution_timed_out: NO_TEXT,
  tool_result_received: NO_TEXT,
  context_overflow: NO_TEXT,
  compaction_started: NO_TEXT,
  compaction_completed: {
    copies: (event, phrases) =>
      beforeWithout(
        event.summary === null
          ? event
          : { ...event, summary: phrases.removeFrom(event.summary, "part") },
        phrases,
      ),
  },
  compaction_failed: { copies: errorWithout },
  memory_recalled: {
    copies: (event, phrases) => ({
      ...event,
      records: event.records.map((record) => ({
        ...record,
        text: phrases.removeFrom(record.text, "part"),
      })),
    }),
  },
  tool_output_pruned: { copies: beforeWithout },
  compaction_undone: NO_TEXT,
  messages_brought_back: {
    copies: (event, phrases) => ({
      ...event,
      messages: event.messages.map((each) => broughtWithout(each, phrases)),
    }),
  },
  recall_refused: NO_TEXT,
  recall_allowed: NO_TEXT,
  session_forked: NO_TEXT,
  history_inherited: { copies: inheritedWithout },
  text_forgotten: NO_TEXT,
  task_updated: {
    forgotten: (event, extent) =>
      extent === "everything"
        ? { ...event, changed: inJson(event.changed, () => FORGOTTEN) as typeof event.changed }
        : event,
    copies: (event, phrases) => ({
      ...event,
      changed: inJson(event.changed, (text) =>
        phrases.removeFrom(text, "part"),
      ) as typeof event.changed,
    }),
  },
  message_pinned: NO_TEXT,
  message_unpinned: NO_TEXT,
  budget_warning: NO_TEXT,
  event_lost: NO_TEXT,
  retrying: { copies: errorWithout },
};

/** The row of the event's type. */
function rowOf(event: DurableEvent): Row<DurableEvent> {
  return FORGETTING[event.type] as Row<DurableEvent>;
}

function errorWithout<Event extends { readonly error: string }>(
  event: Event,
  phrases: ForgottenPhrases,
): Event {
  return { ...event, error: phrases.removeFrom(event.error, "whole") };
}

type Titling = Extract<DurableEvent, { readonly type: "session_created" | "session_titled" }>;

/** The title that an event gives a session. */
export function titleOf(event: Titling): string | undefined {
  return event.type === "session_titled" ? event.title : event.settings.source?.title;
}

function titleWithout<Event extends Titling>(event: Event, phrases: ForgottenPhrases): Event {
  const title = titleOf(event) ?? "";
  return phrases.removeFrom(title, "part") === title ? event : untitled(event);
}

/** The event without the title of the session. */
export function untitled<Event extends Titling>(event: Event): Event;
export function untitled(event: Titling): Titling {
  if (event.type === "session_titled") {
    const { title: _, ...rest } = event;
    return rest;
  }
  const { source, ...settings } = event.settings;
  if (source?.title === undefined) return event;
  const { title: _, ...rest } = source;
  return { ...event, settings: { ...settings, source: rest } };
}

function callsWithout<Calls extends AllowedCalls>(calls: Calls, phrases: ForgottenPhrases): Calls {
  const { command } = calls;
  return command === undefined
    ? calls
    : { ...calls, command: phrases.removeFrom(command, "whole") };
}

/** The instructions that do not have the phrases. */
function heldWithout<Held extends Pick<StandingInstruction, "text">>(
  instructions: readonly Held[],
  phrases: ForgottenPhrases,
): readonly Held[] {
  return instructions.filter(({ text }) => phrases.removeFrom(text, "whole") === text);
}

/** Fields that hold a host's items together. Their values are names and ids, not anyone's words. */
const STRUCTURE = /^(?:type|subtype|role|status|name|timestamp|id|uuid|\w*(?:Id|_id|Uuid|UUID))$/;

/** Fields with data of tools, where any name may stand before a text. */
const DATA = /^(?:input|arguments|output|toolUseResult)$/;

function hostItemsWithout(items: readonly unknown[], phrases: ForgottenPhrases) {
  const data = textChange((text) => phrases.removeFrom(text, "whole"));
  const change: JsonChange = {
    leaf: (leaf, key = "") => (STRUCTURE.test(key) ? leaf : data.leaf(leaf, key)),
    inside: (key) => (DATA.test(key) ? data : undefined),
  };
  const left = items.map((item) =>
    isSaying(item) ? sayingWithout(item, phrases) : changedJson(item, change),
  );
  const isTold = jsonText(left) !== jsonText(items);
  // A summary of these items may tell the same in other words.
  return isTold ? withoutItemSummaries(left) : left;
}

/** An item with the text that it has in memory, which differs from the strings in its value. */
interface SayingItem {
  readonly says: string;
  readonly value: unknown;
}

function isSaying(item: unknown): item is SayingItem {
  return typeof (item as SayingItem | null)?.says === "string";
}

function sayingWithout(item: SayingItem, phrases: ForgottenPhrases): SayingItem {
  const says = phrases.removeFrom(item.says, "whole");
  const value = says === FORGOTTEN ? emptiedJson(item.value) : argsWithout(item.value, phrases);
  return { ...item, says, value };
}

/** The items of a host without the summaries in them. */
export function withoutSummaries(event: HostItemsChanged): HostItemsChanged {
  return { ...event, items: withoutItemSummaries(event.items) };
}

/** A field "summary" in the value of a saying item is its user's. */
function withoutItemSummaries(items: readonly unknown[]): readonly unknown[] {
  return items.map((item) => (isSaying(item) ? item : withoutItsSummary(item)));
}

function withoutItsSummary(value: unknown): unknown {
  return changedJson(value, {
    leaf: (leaf, key) => (key === "summary" && typeof leaf === "string" ? FORGOTTEN : leaf),
    // An item of a provider cannot be searched for a text.
    whole: (whole) => (isBesideItem(whole) ? withoutItem(whole) : undefined),
  });
}

function isBesideItem(value: object): value is { readonly summary: string; readonly item: object } {
  return typeof Reflect.get(value, "summary") === "string" && Reflect.has(value, "item");
}

function withoutItem({ item: _, ...slot }: { readonly summary: string; readonly item: object }) {
  return { ...slot, summary: FORGOTTEN };
}

/** The parts of a fork, besides its messages, that are of the other session. */
function inheritedWithout(event: HistoryInherited, phrases: ForgottenPhrases): HistoryInherited {
  const { summary } = event;
  const rest = besideWithout(event, phrases);
  if (!summary) return rest;
  return { ...rest, summary: { ...summary, text: phrases.removeFrom(summary.text, "part") } };
}

function beforeWithout<Event extends { readonly before?: BesideMessages }>(
  event: Event,
  phrases: ForgottenPhrases,
): Event {
  return event.before ? { ...event, before: besideWithout(event.before, phrases) } : event;
}

function besideWithout<Beside extends BesideMessages>(
  beside: Beside,
  phrases: ForgottenPhrases,
): Beside {
  const without = (text: string) => phrases.removeFrom(text, "part");
  const { recalled, shown_task: shown, brought_back: brought } = beside;
  return {
    ...beside,
    ...(recalled ? { recalled: recalled.map((one) => ({ ...one, text: without(one.text) })) } : {}),
    ...(brought ? { brought_back: brought.map((each) => broughtWithout(each, phrases)) } : {}),
    task: inJson(beside.task, without) as typeof beside.task,
    shown_task: shown && { ...shown, text: without(shown.text) },
    denied: inJson(beside.denied, without) as typeof beside.denied,
    instructions: heldWithout(beside.instructions, phrases),
  };
}

/** An image of a forgotten text is forgotten with it. */
function broughtWithout<Brought extends { readonly text: string; readonly images?: unknown }>(
  brought: Brought,
  phrases: ForgottenPhrases,
): Brought {
  const text = phrases.removeFrom(brought.text, "part");
  if (text === brought.text) return brought;
  const { images: _, ...rest } = brought;
  return { ...rest, text } as Brought;
}

function argsWithout(args: unknown, phrases: ForgottenPhrases): unknown {
  return inJson(args, (text) => phrases.removeFrom(text, "whole"));
}

function isSame(one: DurableEvent, other: DurableEvent): boolean {
  return jsonText(one) === jsonText(other);
}
