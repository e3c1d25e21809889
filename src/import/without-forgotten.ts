import type { ForgottenTexts } from "../core/forgotten-texts.ts";
import {
  contentText,
  FORGOTTEN,
  indexableText,
  type Message,
  toolResults,
} from "../core/message.ts";

/**
 * The messages of a session with a marker in the place of each text that was forgotten. The transcript still has it,
 * perhaps in a session of another agent.
 */
export async function withoutForgotten(
  messages: readonly Message[],
  sessionId: string,
  forgotten: ForgottenTexts | undefined,
): Promise<readonly Message[]> {
  if (!forgotten) return messages;
  const texts = messages.flatMap(textsOf);
  const answers = await forgotten.has(sessionId, texts);
  const gone = new Set(texts.filter((_, index) => answers[index]));
  return gone.size === 0 ? messages : messages.map((message) => without(message, gone));
}

/** The texts of a message that may have been forgotten: the whole, and its parts. */
function textsOf(message: Message): readonly string[] {
  const parts =
    message.role === "block_assistant"
      ? message.blocks.flatMap(({ block_type, data }) => (block_type === "text" ? [data.text] : []))
      : toolResults(message).map(({ content }) => content);
  return [indexableText(message), ...parts];
}

function without(message: Message, gone: ReadonlySet<string>): Message {
  const isGone = gone.has(indexableText(message));
  switch (message.role) {
    case "user":
      return isGone || gone.has(contentText(message.content))
        ? { ...message, content: FORGOTTEN }
        : message;
    case "assistant":
      return isGone ? { ...message, content: FORGOTTEN } : message;
    case "block_assistant":
      return {
        ...message,
        blocks: message.blocks.map((block) =>
          block.block_type === "text" && (isGone || gone.has(block.data.text))
            ? { block_type: "text", data: { text: FORGOTTEN } }
            : block,
        ),
      };
    case "tool_results":
      return {
        ...message,
        results: message.results.map((result) =>
          gone.has(result.content) ? { ...result, content: FORGOTTEN } : result,
        ),
      };
    default:
      return message;
  }
}
