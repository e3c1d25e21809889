import { jsonText } from "../core/json-values.ts";
import {
  type ContentBlock,
  isSummary,
  type Message,
  SUMMARY_PREFIX,
  type ToolUse,
  type UserMessage,
} from "../core/message.ts";
import { speakerName } from "../core/speaker-name.ts";
import { cutMiddle } from "./cut-text.ts";

/** Bytes shown of a tool's arguments or output: its beginning and its end, which a summary needs. */
const TOOL_TEXT_BYTES_MAX = 2000;

/**
 * Messages as a text that a person could read, one after the other:
 *
 *     [user] Why does the test fail?
 *     [assistant] I run it.
 *     [assistant calls run_tests, call_1] {"path":"test/a.test.ts"}
 *     [result of run_tests, call_1] 1 failed …
 *
 * A person whose name is known is `[user Ana]`. Reasoning is left out, an image leaves its type, and no text takes more than
 * `textBytesMax`, so that one long message does not hide the others.
 */
export function renderTranscript(
  messages: readonly Message[],
  textBytesMax: number,
  speakers?: ReadonlyMap<Message, string>,
): string {
  const names = new Map<string, string>();
  const toolBytesMax = Math.min(TOOL_TEXT_BYTES_MAX, textBytesMax);
  const call = ({ id, name, args }: ToolUse) => {
    names.set(id, name);
    const text = cutMiddle(jsonText(args), toolBytesMax);
    return `[assistant calls ${shown(name)}, ${shown(id)}] ${text}`;
  };
  const say = (who: string, text: string) =>
    text.trim() === "" ? [] : [`[${who}] ${cutMiddle(text, textBytesMax)}`];
  const render = (message: Message): string[] => {
    switch (message.role) {
      case "system":
        return say("system", message.content);
      case "user":
        return isSummary(message)
          ? say("summary of what came before", summaryText(message))
          : say(
              ["user", speakerName(speakers?.get(message)) ?? ""].join(" ").trim(),
              userText(message.content),
            );
      case "assistant":
        return [...say("assistant", message.content), ...(message.tool_calls ?? []).map(call)];
      case "block_assistant":
        return message.blocks.flatMap((block) => {
          if (block.block_type === "text") return say("assistant", block.data.text);
          return block.block_type === "tool_use" ? [call(block.data)] : [];
        });
      case "tool_results":
        return message.results.map(({ tool_use_id: id, content, is_error }) => {
          const what = is_error ? "error" : "result";
          const name = names.get(id) ?? "an unknown tool";
          return `[${what} of ${shown(name)}, ${shown(id)}] ${cutMiddle(content, toolBytesMax)}`;
        });
    }
  };
  return messages.flatMap(render).join("\n");
}

/**
 * The words of a summary. A summary that no model wrote also has marks, `[Start] ` and `[Result: …]`, which are no words of
 * the talk.
 */
export function summaryWords(summary: Message): string {
  return summaryText(summary).replace(LINE_MARKS, "").replace(TOOL_MARK, "$1");
}

const LINE_MARKS = /^(?:\[(?:Earlier|Start|User|Assistant|Latest)\] )+/gm;
const TOOL_MARK = /^\[(?:Tool: .*|Result: (.*))\]$/gm;

/** The text of a summary after its prefix. */
export function summaryText(message: Message): string {
  if (message.role !== "user") return "";
  const text = userText(message.content);
  return text.startsWith(SUMMARY_PREFIX) ? text.slice(SUMMARY_PREFIX.length) : text;
}

/** A user's content as text. Images are named by their type, never by their data. */
export function userText(content: UserMessage["content"]): string {
  if (typeof content === "string") return content;
  return content.map(blockText).join("\n");
}

function blockText(block: ContentBlock): string {
  return block.type === "text" ? block.text : `[${block.type}: ${shown(block.media_type)}]`;
}

/** A name from outside, kept to the length that a name has. */
function shown(name: string): string {
  return cutMiddle(name, 80);
}
