import { type ContinuedRequest, compactHistory } from "../compaction/compact-history.ts";
import type { CompactHistoryOptions } from "../compaction/compact-history-options.ts";
import { DefaultCompactor } from "../compaction/default-compactor.ts";
import { outlookOf } from "../compaction/expected-cost.ts";
import { type CompactionContext, type EngineCompactor, isCrowded } from "../core/compactor.ts";
import { errorText, SessionError } from "../core/errors.ts";
import { type DurableEvent, isRequest } from "../core/event.ts";
import { given } from "../core/fields.ts";
import type { LanguageModel } from "../core/language-model.ts";
import { indexableText, type Message } from "../core/message.ts";
import type { PriceTable } from "../core/prices.ts";
import type { SessionState } from "../core/session-state.ts";
import { estimateTokens } from "../core/tokens.ts";
import { NO_TRACES, type SpanFields, type SpanStart, type Traces } from "../core/traces.ts";
import { startsTurn } from "../core/turn.ts";
import { addUsage, NO_USAGE, tokenUsage, type Usage } from "../core/usage.ts";
import { callModel, type RetryPolicy } from "./call-model.ts";
import { type CompactionEnd, compactionEnd, supersededMessages } from "./compaction-end.ts";
import { compactionContext, historyRoom, requestTokens } from "./request-size.ts";
import type { Prompt, TurnLog } from "./run-events.ts";
import type { ToolSet } from "./tool-set.ts";

/** How a session's history is compacted. */
export interface AgentCompaction {
  readonly compactor: EngineCompactor;
  /** The model that writes summaries. Default: the session's model. `"fallback"`: no model. */
  readonly summarizer?: LanguageModel | "fallback";
  readonly onSummaryFailure: "keep" | "fallback";
  readonly pruneToolOutput: boolean;
  readonly keepAnchors: boolean;
  /** See `HistoryCompaction`. */
  readonly userWordsTokens?: number;
  /** Tokens that records of memory may take before a prompt. Missing when nothing comes back by itself. */
  readonly recallTokens?: number;
  readonly summaryTimeoutMs: number;
  /** See `ServiceOptions`. */
  readonly prices?: PriceTable;
}

interface CompactionDeps {
  readonly traces?: Traces;
  readonly model: LanguageModel;
  readonly tools: ToolSet;
  readonly compaction: AgentCompaction;
  readonly retry: RetryPolicy;
}

/** Why a compaction is run. */
type CompactionTrigger =
  | { readonly why: "threshold" }
  /** The provider said that the history is too long. Only the first try of a call asks a model for a summary. */
  | { readonly why: "overflow"; readonly tries: number }
  /** A caller asked for it. */
  | { readonly why: "request"; readonly instructions?: string };

export interface CompactionRun {
  /** Whether the history is another one now. */
  readonly changed: boolean;
  /** The event in the log. Undefined when there was nothing to do. */
  readonly event: CompactionEnd | undefined;
  /** Why the history is unchanged, in words; empty when it is not. */
  readonly detail: string;
  /** Tokens that the summary took. */
  readonly usage: Usage;
}

/** Compacts when the compactor says that it is time; returns the tokens that it took. */
export async function compactIfDue(
  log: TurnLog,
  parts: CompactionDeps,
  signal: AbortSignal,
): Promise<Usage> {
  const { compaction, model, tools } = parts;
  const context = compactionContext(log.state, compaction, model, tools);
  if (!compaction.compactor.shouldCompact(context) || isShortEnough(log.state, parts, context))
    return NO_USAGE;
  return (await runCompaction(log, parts, { why: "threshold" }, signal)).usage;
}

/**
 * Whether a compaction would find nothing to do: records of memory beside the history reach the threshold with it, and the
 * history alone has room. A caller's own compactor decides that itself.
 */
function isShortEnough(
  state: SessionState,
  { compaction, model, tools }: CompactionDeps,
  { looseMessages = 0 }: Pick<CompactionContext, "looseMessages">,
  added = 0,
): boolean {
  const { compactor } = compaction;
  if (!(compactor instanceof DefaultCompactor) || isCrowded(looseMessages, compactor.config))
    return false;
  return state.historyTokens + added < historyRoom(state, compaction, model, tools).targetTokens;
}

/** The prompt counts twice, because its estimate may be too low. */
const PROMPT_FACTOR = 2;

/**
 * Whether a compaction may be due once the prompt is in the history. When in doubt, it may. A
 * caller's own compactor is not asked: it is promised one question for each call of the model.
 */
export function mayBeDue(
  state: SessionState,
  { content, context }: Prompt,
  parts: CompactionDeps,
): boolean {
  const { compaction, model, tools } = parts;
  const { compactor } = compaction;
  if (!(compactor instanceof DefaultCompactor)) return true;
  const now = compactionContext(state, compaction, model, tools);
  const added: readonly Message[] = [...context, { role: "user", content }];
  const counted = Math.max(
    1,
    now.estimatedHistoryTokens / Math.max(1, requestTokens(state, tools)),
  );
  const tokens = (estimateTokens(added) * PROMPT_FACTOR + state.working.taskTokens) * counted;
  const { looseMessages } = now;
  const then = {
    ...now,
    messageCount: now.messageCount + added.length,
    estimatedHistoryTokens: now.estimatedHistoryTokens + tokens,
    ...(looseMessages === undefined ? {} : { looseMessages: looseMessages + added.length }),
  };
  return compactor.shouldCompact(then) && !isShortEnough(state, parts, then, tokens);
}

/**
 * Runs a compaction and logs it. Nothing is committed before the rebuilt
 * history has been checked; a failure is logged and leaves everything as it was.
 *
 *     compaction_started ─► summary ─► rebuilt and checked ─► compaction_completed
 *                              └─ failed ─► compaction_failed, the turn goes on
 */
export async function runCompaction(
  log: TurnLog,
  parts: CompactionDeps,
  trigger: CompactionTrigger,
  signal: AbortSignal,
): Promise<CompactionRun> {
  const { model, traces = NO_TRACES } = parts;
  const start: SpanStart = {
    operation: "rkat.compact",
    sessionId: log.state.id,
    model: model.id,
    fields: { "rkat.compaction.trigger": trigger.why },
  };
  return await traces.span(start, async (span) => {
    const run = await compact(log, parts, trigger, signal);
    span.used(tokenUsage(run.usage));
    span.set(compactionFields(run.event, log.state));
    if (run.event?.type === "compaction_failed") span.failed("compaction_failed");
    return run;
  });
}

/** The attributes of a compaction's span in traces. */
function compactionFields(event: CompactionEnd | undefined, state: SessionState): SpanFields {
  const outcome = event?.type ?? "unchanged";
  if (!event || event.type === "compaction_failed") {
    const tokens = state.historyTokens;
    return {
      "rkat.compaction.outcome": outcome,
      "rkat.compaction.tokens_before": tokens,
      "rkat.compaction.tokens_after": tokens,
    };
  }
  return {
    "rkat.compaction.outcome": outcome,
    "rkat.compaction.tokens_before": event.tokens_before,
    "rkat.compaction.tokens_after": event.tokens_after,
    ...(event.type === "compaction_completed"
      ? {
          "rkat.compaction.messages_before": event.messages_before,
          "rkat.compaction.messages_after": event.messages_after,
          "rkat.compaction.discarded_messages": event.discarded_messages,
          "rkat.compaction.summary_tokens": event.summary_tokens,
        }
      : {}),
  };
}

async function compact(
  log: TurnLog,
  parts: CompactionDeps,
  trigger: CompactionTrigger,
  signal: AbortSignal,
): Promise<CompactionRun> {
  const { state } = log;
  const { compaction, model, tools } = parts;
  const writer = compaction.summarizer ?? model;
  // The history that the result's positions speak of.
  const entries = [...state.history];
  const before = state.historyTokens;
  let usage = NO_USAGE;
  let asked: string | undefined;
  let started = false;
  const start = async () => {
    if (!started) await log.commit([startedEvent(state, trigger)]);
    started = true;
  };
  const summarizer = trigger.why === "overflow" && trigger.tries > 0 ? "fallback" : writer;
  const room = historyRoom(state, compaction, model, tools);
  const session = {
    model: model.id,
    tokens: state.historyTokens,
    calls: state.modelCalls,
    ...given({ prices: compaction.prices }),
  };
  const options: CompactHistoryOptions = {
    messages: entries.map((entry) => entry.message),
    compactor: compaction.compactor,
    pins: state.pinnedPositions,
    superseded: superseded(state, compaction),
    turns: entries.map(({ turn }) => Math.max(0, turn)),
    model: state.settings.model,
    ...room,
    ...(trigger.why === "overflow"
      ? {
          outgrown: true,
          // The provider refused this much, so the history has to get smaller whatever the estimate says.
          targetTokens: Math.max(
            1,
            Math.min(room.targetTokens, Math.floor(before * OVERFLOW_SHARE)),
          ),
        }
      : {}),
    force: trigger.why === "request",
    due: trigger.why === "threshold",
    ...(trigger.why === "request" && trigger.instructions
      ? { instructions: trigger.instructions }
      : {}),
    onSummaryFailure: compaction.onSummaryFailure,
    pruneToolOutput: compaction.pruneToolOutput,
    keepAnchors: compaction.keepAnchors,
    ...(compaction.userWordsTokens === undefined
      ? {}
      : { userWordsTokens: compaction.userWordsTokens }),
    ...given({
      outlook: trigger.why === "threshold" ? outlookOf(state.cache, session) : undefined,
    }),
    ...given({ continues: summarizer === model ? continued(log, parts, trigger) : undefined }),
    injected: entries.flatMap(({ origin }, index) => (isRequest(origin) ? [] : [index])),
    speakers: new Map(
      entries.flatMap(({ origin }, index) => (origin?.speaker ? [[index, origin.speaker]] : [])),
    ),
    summaryTimeoutMs: compaction.summaryTimeoutMs,
    signal,
    ...(summarizer === "fallback"
      ? {}
      : {
          summarize: async ({ continues, ...request }) => {
            await start();
            asked = summarizer.id;
            const sent = { ...request, tools: continues ? tools.definitions : [] };
            const reply = await callModel(summarizer, sent, {
              retry: parts.retry,
              traces: parts.traces,
              sessionId: state.id,
            });
            usage = addUsage(usage, reply.usage);
            return indexableText({
              role: "block_assistant",
              blocks: reply.blocks,
              stop_reason: reply.stopReason,
            });
          },
        }),
  };
  const compacting = async () => {
    const result = await compactHistory(options);
    const isStuck = trigger.why === "overflow" && result.outcome === "unchanged";
    return isStuck ? await compactHistory({ ...options, bare: true }) : result;
  };
  const result = await compacting().catch(async (error) => {
    if (started) await log.commit([interruptedEvent(error, usage, asked)]);
    throw error;
  });
  if (result.outcome === "compacted") await start();
  let event: CompactionEnd | undefined;
  await log.update((now) => {
    event = compactionEnd(result, { entries, before, usage, model: asked, state: now });
    return event ? [event] : [];
  });
  if (event?.type === "compaction_failed")
    return { changed: false, event, detail: event.error, usage };
  const detail = result.outcome === "unchanged" ? result.detail : "";
  return { changed: event !== undefined, event, detail, usage };
}

/** The next request without its unanswered prompt, which stays, if the provider has its beginning in its cache. */
function continued(
  { state }: TurnLog,
  { model, tools }: CompactionDeps,
  { why }: CompactionTrigger,
): ContinuedRequest | undefined {
  const isKnown = why !== "overflow" && model.contextWindow !== undefined;
  if (!isKnown || !state.cache.isWarm(model.id, Date.now())) return undefined;
  const messages = state.sentMessages;
  const last = messages.at(-1);
  const isAsked = last !== undefined && startsTurn(last);
  return { messages: isAsked ? messages.slice(0, -1) : messages, toolTokens: tools.tokens };
}

/**
 * Refuses a run whose system messages and tools alone reach the threshold: no
 * compaction could ever get below it.
 *
 * @throws SessionError `PROMPT_EXCEEDS_THRESHOLD`
 */
export function requirePromptFits(
  state: SessionState,
  tools: ToolSet,
  compaction: AgentCompaction,
): void {
  const threshold = compaction.compactor.config.autoCompactThreshold;
  if (state.systemTokens + tools.tokens < threshold) return;
  const may = superseded(state, compaction).map((position) => state.history[position]?.weight ?? 0);
  const leaving = Math.ceil(may.reduce((sum, weight) => sum + weight, 0) / 4);
  if (state.systemTokens - leaving + tools.tokens < threshold) return;
  throw new SessionError("PROMPT_EXCEEDS_THRESHOLD", {
    detail: `System messages take about ${state.systemTokens} tokens and ${tools.definitions.length} tools about ${tools.tokens}; auto_compact_threshold is ${threshold}.`,
  });
}

/** The part of the threshold that system messages which came with turns may bring the system messages to. */
const SYSTEM_SHARE = 1 / 2;

function superseded({ history }: SessionState, { compactor }: AgentCompaction): readonly number[] {
  return supersededMessages(history, compactor.config.autoCompactThreshold * SYSTEM_SHARE);
}

/** A history that a provider called too long is cut to this share of its estimate. */
const OVERFLOW_SHARE = 0.6;

function startedEvent(state: SessionState, { why }: CompactionTrigger): DurableEvent {
  return {
    type: "compaction_started",
    trigger: why,
    input_tokens: state.lastInputTokens,
    estimated_history_tokens: state.historyTokens,
    message_count: state.history.length,
  };
}

/** Only an interruption is thrown; all else is an outcome. */
function interruptedEvent(error: unknown, usage: Usage, asked: string | undefined): DurableEvent {
  const model = given({ model: asked });
  const reason = "interrupted";
  return { type: "compaction_failed", error: errorText(error), reason, usage, ...model };
}

/** The event of a refused request: it had more tokens than the window, or than the threshold that should have prevented it. */
export function overflowEvent(
  state: SessionState,
  { model, tools, compaction }: CompactionDeps,
): DurableEvent {
  const estimated = requestTokens(state, tools);
  const { autoCompactThreshold } = compaction.compactor.config;
  const limit = model.contextWindow ?? Math.ceil(autoCompactThreshold / REFUSED_SHARE);
  return {
    type: "context_overflow",
    model: model.id,
    estimated_input_tokens: estimated,
    input_tokens_min: Math.max(estimated, limit),
  };
}

/** With an unknown context window, the next compaction is due at this share of the refused size. */
const REFUSED_SHARE = 0.8;
