import type { HostRecord } from "../core/host-record.ts";
import type { Tool, ToolOutput } from "../core/tool.ts";

/** What rkat's stores do for the loop of another package. */
export interface HostMemory {
  /** For the model: search what was said, search what tools returned. */
  readonly tools: readonly Tool[];
  /** Where the window of a chat keeps its compactions, and the messages that it compacted. */
  recordOf(chatId: string): HostRecord;
  /** Ends the work on what was recorded. The stores stay open. */
  close(): Promise<void>;
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
