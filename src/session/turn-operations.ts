import assert from "node:assert/strict";
import { type CompactionRun, runCompaction } from "../agent/run-compaction.ts";
import { runTurn } from "../agent/run-turn.ts";
import { SessionError } from "../core/errors.ts";
import type { DurableEvent, Origin } from "../core/event.ts";
import { given } from "../core/fields.ts";
import type { Message } from "../core/message.ts";
import type {
  CompactionOutcome,
  MessagesAppended,
  TurnOperations,
  TurnOptions,
  TurnResult,
} from "../core/operations/turns.ts";
import type { CheckedRequest } from "../core/operations.ts";
import type { SessionState } from "../core/session-state.ts";
import { NO_TRACES, type TracedSpan } from "../core/traces.ts";
import { WorkingMemory } from "../core/working-memory.ts";
import { hashOf } from "../knowledge/hash-of.ts";
import { givenInstructions } from "../knowledge/lasting-wishes.ts";
import { recallOf } from "./recall.ts";
import type { Part, ServiceCore, ToolsOf } from "./service-core.ts";
import { instructionBytesMax } from "./turn-settings.ts";

/** Runs turns and compactions, ends them, and records what another program's loop did. */
export function turnOperations(core: ServiceCore, toolsOf: ToolsOf): Part<keyof TurnOperations> {
  const { work, settings: all, desk } = core;

  async function turn(
    request: CheckedRequest<"startTurn" | "resume">,
    options: TurnOptions,
  ): Promise<TurnResult> {
    const { tracer = NO_TRACES } = core.options;
    const start = { operation: "invoke_agent", of: "rkat", sessionId: request.sessionId } as const;
    return await tracer.span(start, async (span) => {
      const result = await untracedTurn(request, options, span);
      const { stopReason, modelCalls, toolCalls, turns, usage } = result;
      span.used(usage);
      span.set({
        "rkat.turn.stop_reason": stopReason,
        "rkat.turn.number": turns,
        "rkat.turn.model_calls": modelCalls,
        "rkat.turn.tool_calls": toolCalls,
      });
      return result;
    });
  }

  async function untracedTurn(
    request: CheckedRequest<"startTurn" | "resume">,
    options: TurnOptions,
    span: TracedSpan,
  ): Promise<TurnResult> {
    const { prompt: content, origin, context = [] } = request;
    return await work.run(request.sessionId, options, async (session, signal) => {
      const { state } = session;
      if (content === undefined && state.openCalls.length === 0) throw nothingToGoOnWith();
      const settings = await all.forTurn(state, request);
      span.uses(settings.model.id);
      const tools = toolsOf(state.settings);
      const approvals = desk.of(state, tools);
      const prompt =
        content === undefined
          ? undefined
          : {
              content,
              context,
              ...(origin ? { origin } : {}),
              instructions: givenInstructions(
                state,
                { content, origin },
                instructionBytesMax(settings.compaction),
              ),
            };
      const recall = recallOf(core, state);
      const result = await runTurn(prompt, {
        ...settings,
        tools,
        approvals,
        ...(recall ? { recall } : {}),
        log: session,
        signal,
      });
      return { sessionId: state.id, ...result };
    });
  }

  return {
    startTurn: turn,
    resume: turn,
    appendMessages: (request) => appendMessages(core, request),
    interrupt: ({ sessionId }) => work.interrupt(sessionId),
    compact: ({ sessionId, instructions }, options) =>
      work.run(sessionId, options, async (session, signal) => {
        if (session.state.openCalls.length > 0) throw new SessionError("APPROVAL_REQUIRED");
        const { compaction, ...settings } = await all.forTurn(session.state, {});
        assert(compaction);
        const tools = toolsOf(session.state.settings);
        const trigger = { why: "request", ...(instructions ? { instructions } : {}) } as const;
        const how = { ...settings, tools, compaction };
        const run = await runCompaction(session, how, trigger, signal);
        return compactionOutcome(run, session.state.history.length);
      }),
  };
}

function nothingToGoOnWith(): SessionError {
  return new SessionError("NOT_POSSIBLE", {
    message: "There is no prompt, and no tool call waits for approval.",
    hint: "Give a prompt.",
  });
}

/** The result of `compact`. */
function compactionOutcome({ event, detail }: CompactionRun, messages: number): CompactionOutcome {
  if (!event || event.type === "compaction_failed") return { compacted: false, reason: detail };
  const tokens = { tokensBefore: event.tokens_before, tokensAfter: event.tokens_after };
  if (event.type === "tool_output_pruned") {
    return {
      compacted: true,
      messagesBefore: messages,
      messagesAfter: messages,
      ...tokens,
      discardedMessages: 0,
      summaryTokens: 0,
    };
  }
  return {
    compacted: true,
    messagesBefore: event.messages_before,
    messagesAfter: event.messages_after,
    ...tokens,
    discardedMessages: event.discarded_messages,
    summaryTokens: event.summary_tokens,
  };
}

/** Adds messages to a session without a turn: one batch, in one transaction. */
async function appendMessages(
  { work, settings }: ServiceCore,
  { sessionId, messages, key, origin }: CheckedRequest<"appendMessages">,
): Promise<MessagesAppended> {
  return await work.run(sessionId, {}, async (session) => {
    const { state } = session;
    const name = key === undefined ? undefined : hashOf(key);
    const known = name === undefined ? undefined : state.appended.find(name);
    if (known) {
      const count = known.to - known.from + 1;
      if (count !== messages.length) throw keyIsTaken(key, count, messages.length);
      return appended(state, 0, known.from, count);
    }
    if (state.openCalls.length > 0) throw new SessionError("APPROVAL_REQUIRED");
    const bytesMax = instructionBytesMax((await settings.window(state.settings)).compaction);
    const batch = name === undefined ? {} : { batch: { key: name, messages: messages.length } };
    let from = 0;
    await session.update((now) => {
      from = now.seq + 1;
      const [first, ...rest] = eventsOf(messages, origin, now, bytesMax);
      return first ? [{ ...first, ...batch }, ...rest] : [];
    });
    return appended(state, messages.length, from, messages.length);
  });
}

type MessageAdded = Extract<DurableEvent, { type: "message_added" }>;

/** The events of a batch. A user's standing instructions hold in the session, as those of a prompt do. */
function eventsOf(
  messages: readonly Message[],
  given: Origin | undefined,
  { seq, settings, working }: SessionState,
  bytesMax: number,
): MessageAdded[] {
  const after = new WorkingMemory();
  after.restore(working.snapshot());
  return messages.map((message, index) => {
    const place = originOf(message, given);
    const { origin } = place;
    const isUsers = message.role === "user" && origin?.author === "user";
    const instructions = isUsers
      ? givenInstructions({ working: after, settings }, { ...message, origin }, bytesMax)
      : {};
    const event: MessageAdded = { type: "message_added", message, ...place, ...instructions };
    after.note({ seq: seq + 1 + index, event }, undefined, 0);
    return event;
  });
}

/** Only user messages have an author or a name. Of the others the origin says when and where. */
function originOf(
  message: Message,
  { author, speaker, ...place }: Origin = {},
): { readonly origin?: Origin } {
  const isUsers = message.role === "user";
  const nameless = speaker === undefined ? ("program" as const) : undefined;
  const writer = isUsers ? given({ author: author ?? nameless, speaker }) : {};
  const origin: Origin = { ...writer, ...place };
  return Object.keys(origin).length > 0 ? { origin } : {};
}

function appended(
  { id, turns, historyTokens }: SessionState,
  added: number,
  from: number,
  count: number,
): MessagesAppended {
  const messages = Array.from({ length: count }, (_, index) => from + index);
  return { sessionId: id, added, messages, turns, historyTokens };
}

function keyIsTaken(key: string | undefined, before: number, now: number): SessionError {
  return new SessionError("SESSION_CONFLICT", {
    message: `The key "${key}" belongs to a batch of ${before} messages. This batch has ${now}.`,
    hint: "Repeat a batch unchanged, or give the new one another key.",
  });
}
