import { type Message, toolResults } from "./message.ts";
import { headWithin, tailWithin, utf8Bytes } from "./tokens.ts";

/**
 * Shortens a tool's output to about `keptBytes`: half from its start and half from its end, with a
 * note in between that says what is missing. The same input always gives the
 * same text.
 */
function shortenToolOutput(output: string, keptBytes: number): string {
  const head = headWithin(output, Math.ceil(keptBytes / 2));
  const tail = tailWithin(output, Math.floor(keptBytes / 2));
  const missing = utf8Bytes(output) - utf8Bytes(head) - utf8Bytes(tail);
  if (missing <= 0) return output;
  const note = `[${missing} bytes of old tool output pruned]`;
  return [head, note, tail].filter((part) => part !== "").join("\n");
}

/** The message with the output of `toolUseId` shortened. */
export function withShortenedOutput(
  message: Message,
  toolUseId: string,
  keptBytes: number,
): Message {
  if (message.role !== "tool_results") return message;
  const results = toolResults(message).map((result) =>
    result.tool_use_id === toolUseId
      ? { ...result, content: shortenToolOutput(result.content, keptBytes) }
      : result,
  );
  return { ...message, results };
}
