import type { Message } from "../core/message.ts";
import type { Tool, ToolOutput } from "../core/tool.ts";

/** What rkat's stores do for the loop of another package. */
export interface HostMemory {
  /** For the model: search what was said, search what tools returned. */
  readonly tools: readonly Tool[];
  /** Stores messages of a chat. One with an id that the chat has already is skipped. */
  record(chatId: string, messages: readonly RecordedMessage[]): Promise<void>;
  /** Ends the work on what was recorded. The stores stay open. */
  close(): Promise<void>;
}

export interface RecordedMessage {
  readonly id: string;
  readonly message: Message;
}

/** Runs a tool. What goes wrong is for the model to read. */
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
