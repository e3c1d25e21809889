import { type DurableEvent, type Origin, speakerOf } from "../../core/event.ts";
import type { HistoryHit } from "../../core/event-store.ts";
import { jsonText } from "../../core/json-values.ts";
import {
  indexableText,
  isForgotten,
  isRecall,
  type Message,
  toolResults,
  toolUses,
} from "../../core/message.ts";

/** The text of an event, and its speaker. */
export interface EventText {
  readonly role: HistoryHit["role"];
  readonly speaker?: string;
  readonly text: string;
}

/**
 * The text by which a search finds an event; `undefined` when there is none.
 *
 * Stores index this text. After a change here they must index the log again.
 */
export function eventText(event: DurableEvent): EventText | undefined {
  const said = saidBy(event);
  if (!said || said.text.trim() === "" || isForgotten(said.text)) return undefined;
  return said;
}

/**
 * The text by which a search shows an event: without calls of searches and their results, which only
 * repeat what others said. `before` is the previous event of the session.
 */
export function shownText(
  event: DurableEvent,
  before: () => DurableEvent | undefined,
): EventText | undefined {
  switch (event.type) {
    case "tool_call_requested":
    case "tool_execution_completed":
      return isRecall(event.name) ? undefined : eventText(event);
    case "message_added":
      return eventText({ ...event, message: withoutRecall(event.message, before) });
    default:
      return eventText(event);
  }
}

function withoutRecall(message: Message, before: () => DurableEvent | undefined): Message {
  if (message.role === "assistant" && message.tool_calls) {
    return { ...message, tool_calls: message.tool_calls.filter(({ name }) => !isRecall(name)) };
  }
  if (message.role === "block_assistant") {
    const isKept = (block: (typeof message.blocks)[number]) =>
      block.block_type !== "tool_use" || !isRecall(block.data.name);
    return { ...message, blocks: message.blocks.filter(isKept) };
  }
  if (message.role !== "tool_results") return message;
  const asked = before();
  const calls = asked?.type === "message_added" ? toolUses(asked.message) : [];
  const recalls = new Set(calls.filter(({ name }) => isRecall(name)).map(({ id }) => id));
  const isKept = ({ tool_use_id }: { readonly tool_use_id: string }) => !recalls.has(tool_use_id);
  return { ...message, results: message.results.filter(isKept) };
}

function saidBy(event: DurableEvent): EventText | undefined {
  switch (event.type) {
    case "run_started":
      return withSpeaker({ role: "user", text: event.prompt }, event.origin);
    case "text_complete":
      return { role: "assistant", text: event.content };
    case "tool_call_requested":
      return { role: "assistant", text: callText(event) };
    case "tool_execution_completed":
      return { role: "tool", text: event.result };
    case "message_added":
      return withSpeaker(messageText(event.message), event.origin);
    default:
      return undefined;
  }
}

function withSpeaker(text: EventText | undefined, origin: Origin | undefined) {
  const speaker = speakerOf(origin);
  return text && speaker !== undefined ? { ...text, speaker } : text;
}

function messageText(message: Message): EventText | undefined {
  switch (message.role) {
    case "system":
      return undefined;
    case "user":
      return { role: "user", text: indexableText(message) };
    case "tool_results":
      return { role: "tool", text: lines(toolResults(message).map((result) => result.content)) };
    default:
      return {
        role: "assistant",
        text: lines([indexableText(message), ...toolUses(message).map(callText)]),
      };
  }
}

function callText(call: { readonly name: string; readonly args: unknown }): string {
  const args = jsonText(call.args);
  // Otherwise the escape "\n" would add an "n" to the first word of each line.
  return `${call.name} ${args.replace(/\\(["\\/nrt])/g, (_, escaped) => UNESCAPED[escaped] ?? escaped)}`;
}

const UNESCAPED: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

function lines(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n");
}
