import { type DurableEvent, type Origin, speakerOf } from "../../core/event.ts";
import type { HistoryHit } from "../../core/event-store.ts";
import {
  indexableText,
  isForgotten,
  type Message,
  toolResults,
  toolUses,
} from "../../core/message.ts";
import { startsTurn } from "../../core/turn.ts";

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
  const args = JSON.stringify(call.args) ?? "";
  // Otherwise the escape "\n" would add an "n" to the first word of each line.
  return `${call.name} ${args.replace(/\\(["\\/nrt])/g, (_, escaped) => UNESCAPED[escaped] ?? escaped)}`;
}

const UNESCAPED: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

function lines(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n");
}

/** Whether a turn begins with the event. The same rule as for messages. */
export function beginsTurn(event: DurableEvent): boolean {
  return (
    event.type === "run_started" || (event.type === "message_added" && startsTurn(event.message))
  );
}
