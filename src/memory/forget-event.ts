import type { DurableEvent } from "../core/event.ts";
import { FORGOTTEN } from "../core/forgotten.ts";
import { type ContentBlock, indexableText } from "../core/message.ts";
import { forgottenMessage, messageWithoutCopies } from "./forget-message.ts";
import { emptiedJson, inJson } from "./in-json.ts";
import type { TellingTexts } from "./telling-texts.ts";

/**
 * How much of an event is forgotten: what somebody said, so that the calls of
 * tools stay; that and the calls; or only the texts that are to be forgotten.
 */
export type Extent = "message" | "everything" | "texts";

/** What people and models said in an event: the texts that are forgotten with it. */
export function textsOf(event: DurableEvent): readonly string[] {
  return rowOf(event).said?.(event) ?? [];
}

/** An event of which nothing is left but that it was, or nothing of some texts. */
export function forgottenEvent(
  event: DurableEvent,
  extent: Extent,
  texts: TellingTexts,
): DurableEvent {
  const { forgotten, without } = rowOf(event);
  // Where the texts cannot be told from the rest, as with a key that was replaced, all of it goes.
  const cut = extent === "texts" ? without?.(event, texts) : undefined;
  if (cut && !isSame(cut, event)) return cut;
  return forgotten?.(event, extent) ?? event;
}

/**
 * An event without copies of forgotten texts: in summaries, in what tools were
 * given and gave, in thoughts, task records and prompts that were told of rules.
 * What somebody said is no copy and stays as it is. Returns the event itself when
 * there are none.
 */
export function withoutCopies(event: DurableEvent, texts: TellingTexts): DurableEvent {
  const copied = rowOf(event).copies?.(event, texts) ?? event;
  return copied === event || isSame(copied, event) ? event : copied;
}

interface Row<Event> {
  readonly said?: (event: Event) => readonly string[];
  readonly forgotten?: (event: Event, extent: Extent) => Event;
  /** It without texts that are a part of what was said. */
  readonly without?: (event: Event, texts: TellingTexts) => Event;
  readonly copies?: (event: Event, texts: TellingTexts) => Event;
}

type Rows = {
  readonly [Type in DurableEvent["type"]]: Row<Extract<DurableEvent, { readonly type: Type }>>;
};

/** Tools whose results repeat what memory, logs and the task record have, in parts too. */
const RECALLING = ["memory_search", "search_project_history", "update_task"];

/** It has ids, numbers and names of tools, and no text. */
const NO_TEXT = {};

/** What each event says, and how it is forgotten. */
export const FORGETTING: Rows = {
  session_created: NO_TEXT,
  session_archived: NO_TEXT,
  message_added: {
    said: ({ message }) => [indexableText(message)],
    forgotten: (event) => ({ ...event, message: forgottenMessage(event.message) }),
    copies: (event, texts) => ({ ...event, message: messageWithoutCopies(event.message, texts) }),
  },
  skills_resolved: NO_TEXT,
  knowledge_applied: NO_TEXT,
  run_started: {
    said: ({ prompt }) => [prompt],
    forgotten: ({ content: _, ...event }) => ({ ...event, prompt: FORGOTTEN }),
    without: (event, texts) => ({
      ...event,
      prompt: texts.outOf(event.prompt, "whole"),
      ...(event.content ? { content: blocksWithout(event.content, texts) } : {}),
    }),
  },
  run_completed: {
    copies: (event, texts) => ({ ...event, result: texts.outOf(event.result, "whole") }),
  },
  run_failed: { copies: errorWithout },
  run_paused: NO_TEXT,
  run_resumed: NO_TEXT,
  turn_started: NO_TEXT,
  reasoning_complete: {
    // What a provider wants back with a text is about this very text.
    forgotten: ({ type }) => ({ type, content: FORGOTTEN }),
    copies: (event, texts) => {
      const content = texts.outOf(event.content, "whole");
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
    copies: (event, texts) => ({ ...event, args: argsWithout(event.args, texts) }),
  },
  turn_completed: NO_TEXT,
  tool_approval_requested: {
    forgotten: (event, extent) =>
      extent === "everything"
        ? { ...event, args: emptiedJson(event.args), goal: FORGOTTEN }
        : event,
    copies: (event, texts) => ({
      ...event,
      args: argsWithout(event.args, texts),
      // A shortened copy of what the user said.
      goal: texts.outOf(event.goal, "part"),
    }),
  },
  tool_approval_resolved: {
    forgotten: (event, extent) =>
      extent === "everything" && event.reason !== undefined
        ? { ...event, reason: FORGOTTEN }
        : event,
    copies: (event, texts) =>
      event.reason === undefined ? event : { ...event, reason: texts.outOf(event.reason, "whole") },
  },
  tool_execution_started: NO_TEXT,
  tool_execution_completed: {
    said: ({ result }) => [result],
    forgotten: (event) => ({ ...event, result: FORGOTTEN }),
    copies: (event, texts) => {
      const of = RECALLING.includes(event.name) ? "part" : "whole";
      return { ...event, result: texts.outOf(event.result, of) };
    },
  },
  tool_execution_timed_out: NO_TEXT,
  tool_result_received: NO_TEXT,
  compaction_started: NO_TEXT,
  compaction_completed: {
    copies: (event, texts) =>
      event.summary === null ? event : { ...event, summary: texts.outOf(event.summary, "part") },
  },
  compaction_failed: { copies: errorWithout },
  tool_output_pruned: NO_TEXT,
  text_forgotten: NO_TEXT,
  task_updated: {
    copies: (event, texts) => ({
      ...event,
      changed: inJson(event.changed, (text) => texts.outOf(text, "part")) as typeof event.changed,
    }),
  },
  message_pinned: NO_TEXT,
  message_unpinned: NO_TEXT,
  budget_warning: NO_TEXT,
  retrying: { copies: errorWithout },
};

/** The row of an event's own type, which takes such events. */
function rowOf(event: DurableEvent): Row<DurableEvent> {
  return FORGETTING[event.type] as Row<DurableEvent>;
}

function errorWithout<Event extends { readonly error: string }>(
  event: Event,
  texts: TellingTexts,
): Event {
  return { ...event, error: texts.outOf(event.error, "whole") };
}

function blocksWithout(blocks: readonly ContentBlock[], texts: TellingTexts) {
  return blocks.map((block) =>
    block.type === "text" ? { ...block, text: texts.outOf(block.text, "whole") } : block,
  );
}

function argsWithout(args: unknown, texts: TellingTexts): unknown {
  return inJson(args, (text) => texts.outOf(text, "whole"));
}

function isSame(one: DurableEvent, other: DurableEvent): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
