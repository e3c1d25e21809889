import type { DurableEvent, Origin, StoredEvent } from "./event.ts";
import type { SaidIn } from "./kept-state.ts";
import {
  type AssistantBlock,
  type Message,
  type ProviderMeta,
  type ToolResult,
  type ToolUse,
  toolUses,
} from "./message.ts";

/** A message with its place in the log. */
export interface LoggedMessage {
  /** `seq` of the event that completed it. This is the message's id in its session. */
  readonly id: number;
  /** `seq` of its first event. */
  readonly from: number;
  readonly message: Message;
  readonly timestampMs: number;
  readonly origin?: Origin;
  /** It is a copy: the session is a fork. */
  readonly inherited?: SaidIn;
}

/**
 * Assembles messages from the events of a log:
 *
 *     run_started ─────────────────────────────────────► user
 *     reasoning_complete, text_complete,
 *     tool_call_requested …, turn_completed ───────────► block_assistant
 *     tool_execution_completed, one for each call ─────► tool_results
 *     message_added ───────────────────────────────────► its message
 */
export class MessageAssembler {
  #blocks: AssistantBlock[] = [];
  #blocksFrom = 0;
  #calls: readonly ToolUse[] = [];
  #results = new Map<string, ToolResult>();
  #resultsFrom = 0;

  /** Calls of the last assistant message without a result. */
  get openCalls(): readonly ToolUse[] {
    return this.#calls.filter((call) => !this.#results.has(call.id));
  }

  /** Takes the next event. Returns the message that it completes, if any. */
  push(stored: StoredEvent): LoggedMessage | undefined {
    const { seq, event } = stored;
    switch (event.type) {
      case "run_started":
        return this.#done(stored, seq, {
          role: "user",
          content: event.content ?? event.prompt,
        });
      case "message_added":
        return this.#done(stored, seq, event.message);
      case "turn_started":
        this.#blocks = [];
        return undefined;
      case "reasoning_complete":
      case "text_complete":
      case "tool_call_requested":
        if (this.#blocks.length === 0) this.#blocksFrom = seq;
        this.#blocks.push(blockOf(event));
        return undefined;
      case "turn_completed": {
        const blocks = this.#blocks;
        this.#blocks = [];
        if (blocks.length === 0) return undefined;
        const { stop_reason } = event;
        return this.#done(stored, this.#blocksFrom, {
          role: "block_assistant",
          blocks,
          stop_reason,
        });
      }
      case "tool_execution_completed":
        return this.#result(stored, event);
      default:
        return undefined;
    }
  }

  #result(
    stored: StoredEvent,
    { id, result, is_error }: Extract<DurableEvent, { type: "tool_execution_completed" }>,
  ): LoggedMessage | undefined {
    // A result without an open call stays out of the messages.
    if (!this.openCalls.some((call) => call.id === id)) return undefined;
    if (this.#results.size === 0) this.#resultsFrom = stored.seq;
    this.#results.set(id, { tool_use_id: id, content: result, is_error });
    if (this.openCalls.length > 0) return undefined;
    const inCallOrder = this.#calls.flatMap((call) => this.#results.get(call.id) ?? []);
    return this.#done(stored, this.#resultsFrom, { role: "tool_results", results: inCallOrder });
  }

  #done(stored: StoredEvent, from: number, message: Message): LoggedMessage {
    this.#calls = toolUses(message);
    this.#results = new Map();
    const origin = "origin" in stored.event ? stored.event.origin : undefined;
    const inherited = "inherited" in stored.event ? stored.event.inherited : undefined;
    return {
      id: stored.seq,
      from,
      message,
      timestampMs: stored.timestamp_ms,
      ...(origin ? { origin } : {}),
      ...(inherited ? { inherited } : {}),
    };
  }
}

type BlockEvent = Extract<
  DurableEvent,
  { type: "reasoning_complete" | "text_complete" | "tool_call_requested" }
>;

function blockOf(event: BlockEvent): AssistantBlock {
  switch (event.type) {
    case "reasoning_complete":
      return { block_type: "reasoning", data: { text: event.content, ...metaOf(event) } };
    case "text_complete":
      return { block_type: "text", data: { text: event.content, ...metaOf(event) } };
    case "tool_call_requested": {
      const { id, name, args } = event;
      return { block_type: "tool_use", data: { id, name, args, ...metaOf(event) } };
    }
  }
}

/** The event of a block: the inverse of `blockOf`. */
export function eventOfBlock(block: AssistantBlock): BlockEvent {
  switch (block.block_type) {
    case "reasoning":
      return { type: "reasoning_complete", content: block.data.text, ...metaOf(block.data) };
    case "text":
      return { type: "text_complete", content: block.data.text, ...metaOf(block.data) };
    case "tool_use": {
      const { id, name, args } = block.data;
      return { type: "tool_call_requested", id, name, args, ...metaOf(block.data) };
    }
  }
}

function metaOf({ meta }: { readonly meta?: ProviderMeta }): { readonly meta?: ProviderMeta } {
  return meta ? { meta } : {};
}
