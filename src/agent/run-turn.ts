import { ERRORS, SessionError } from "../core/errors.ts";
import type { DurableEvent, MemoryRecalled } from "../core/event.ts";
import { type JoinedSignal, joinSignals } from "../core/join-signals.ts";
import type { LanguageModel } from "../core/language-model.ts";
import { contentText, type Message, type ToolUse, toolUses } from "../core/message.ts";
import { eventOfBlock } from "../core/message-assembler.ts";
import type { Budget, TurnEnd, TurnResult } from "../core/operations/turns.ts";
import type { Traces } from "../core/traces.ts";
import { addUsage, NO_USAGE, tokenUsage, type Usage } from "../core/usage.ts";
import { NO_RECORDS, type RecallRoom } from "../recall/recall-room.ts";
import type { Approvals } from "./approvals.ts";
import { callModel, type ModelReply, type RetryPolicy } from "./call-model.ts";
import { recallRoom, requestTokens } from "./request-size.ts";
import { RunBudget } from "./run-budget.ts";
import {
  type AgentCompaction,
  compactIfDue,
  mayBeDue,
  overflowEvent,
  requirePromptFits,
  runCompaction,
} from "./run-compaction.ts";
import {
  closingEvents,
  interruptedCalls,
  openingEvents,
  type Prompt,
  runFailed,
  type TurnLog,
} from "./run-events.ts";
import {
  announcedCalls,
  judgeCalls,
  runTools,
  supersede,
  type ToolsContext,
  type Verdicts,
} from "./run-tools.ts";
import type { ToolSet } from "./tool-set.ts";

/** Model calls of one run when nothing else is said. */
const MODEL_CALLS_MAX = 100;

export interface RunOptions {
  readonly log: TurnLog;
  readonly model: LanguageModel;
  readonly tools: ToolSet;
  readonly retry: RetryPolicy;
  readonly budget: Budget;
  readonly toolTimeoutMs: number;
  /** Missing when every call may run. */
  readonly approvals?: Approvals;
  readonly maxTokens?: number;
  /** Finds what memory has about a prompt. Missing when nothing comes back by itself. */
  readonly recall?: Recall;
  /** Missing when sessions are not compacted. */
  readonly compaction?: AgentCompaction;
  readonly traces?: Traces;
  readonly signal: AbortSignal;
}

/** Returns records that have room. It never fails. */
export type Recall = (prompt: string, room: RecallRoom) => Promise<MemoryRecalled | undefined>;

type RunResult = Omit<TurnResult, "sessionId">;

/**
 * Runs one turn: the user's message, then model calls and tool calls until the model calls no more
 * tools.
 *
 *     run_started ─► [compaction] ─► [recall] ─► call the model ─► run its tools ─┐
 *                         ▲                                                      │
 *                         └──────────────────────────────────────────────────────┘
 *                                          └─► no tool asked for: run_completed
 *
 * However it ends, the log says what happened, and the next turn can continue: each call has a result
 * or waits for approval. Without a prompt, the run continues one that left waiting calls.
 */
export async function runTurn(prompt: Prompt | undefined, options: RunOptions): Promise<RunResult> {
  const { log, compaction, tools } = options;
  if (compaction) requirePromptFits(log.state, tools, compaction);
  return new Run(options).run(prompt);
}

/** Holds a timer from its creation to the end of `run`. */
class Run {
  readonly #options: RunOptions;
  readonly #budget: RunBudget;
  readonly #stop: JoinedSignal;
  #usage: Usage = NO_USAGE;
  #calls = 0;
  #text = "";
  /** The text so far of an answer that is not complete. */
  #partial = "";
  /** Tokens that the last request was estimated at. */
  #estimated = 0;
  #prompt = "";
  /** How often the recalled records had left the history when memory was asked last. */
  #recalledAt = -1;
  /** Whether the log has the run's end. */
  #isEnded = false;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#budget = new RunBudget(options.budget);
    const { maxDurationMs } = options.budget;
    this.#stop = joinSignals([options.signal], maxDurationMs);
  }

  async run(prompt: Prompt | undefined): Promise<RunResult> {
    const { log } = this.#options;
    try {
      const end = prompt ? await this.#begin(prompt) : await this.#goOn();
      if (!this.#isEnded) await log.commit([this.#completion()]);
      return this.#result(end);
    } catch (error) {
      if (this.#stop.timedOut && !this.#options.signal.aborted) {
        await this.#keepPartial();
        await this.#closeOpenCalls("The time of the turn is used up.");
        await log.commit(this.#budget.warnings());
        if (log.state.openCalls.length > 0) return this.#result(await this.#pause());
        await log.commit([this.#completion()]);
        return this.#result("budget_exhausted");
      }
      throw await this.#fail(error);
    } finally {
      this.#stop.release();
    }
  }

  async #begin(prompt: Prompt): Promise<TurnEnd> {
    const { log } = this.#options;
    // Allowed calls still run. The new prompt denies the unanswered ones.
    await runTools(log.state.openCalls, this.#tools, { ask: supersede });
    const opening = openingEvents(log.state.id, prompt);
    this.#prompt = contentText(prompt.content);
    if (!this.#callsAtOnce(prompt)) {
      await log.commit(opening);
      return await this.#loop();
    }
    // One batch instead of two: each takes its time to get to the disk.
    const added = [...prompt.context, { role: "user", content: prompt.content } as const];
    await log.commit([...opening, ...(await this.#recall(added)), this.#started()]);
    return await this.#loop({ isStarted: true });
  }

  /** Whether nothing can come between the prompt and the first call of the model. */
  #callsAtOnce(prompt: Prompt): boolean {
    const { budget, compaction } = this.#options;
    if (this.#stop.signal.aborted || this.#budget.exhausted || budget.maxModelCalls === 0)
      return false;
    return (
      !compaction || !mayBeDue(this.#options.log.state, prompt, { ...this.#options, compaction })
    );
  }

  /**
   * The records of memory about the prompt, if memory was not asked since the last compaction, or if those that are shown
   * have no room any more. `added` are messages that the log does not have yet.
   */
  async #recall(added: readonly Message[] = []): Promise<readonly DurableEvent[]> {
    const { log, recall } = this.#options;
    const { clearings } = log.state.recalled;
    const room = recallRoom(this.#options, added);
    if (this.#recalledAt === clearings && !room.isOver) return [];
    this.#recalledAt = clearings;
    const found = await recall?.(this.#prompt, room);
    if (found) return [found];
    return room.isOver ? [NO_RECORDS] : [];
  }

  #started(): DurableEvent {
    const turn_number = this.#calls;
    this.#calls += 1;
    return { type: "turn_started", turn_number };
  }

  async #goOn(): Promise<TurnEnd> {
    const { log } = this.#options;
    this.#recalledAt = log.state.recalled.clearings;
    const prompt = log.state.lastPrompt?.message;
    this.#prompt = prompt?.role === "user" ? contentText(prompt.content) : "";
    await log.commit([{ type: "run_resumed", session_id: log.state.id }]);
    const done = await runTools(log.state.openCalls, this.#tools);
    return done ? await this.#loop() : await this.#pause();
  }

  async #pause(): Promise<TurnEnd> {
    const { log } = this.#options;
    const reason = "approval_required";
    await log.commit([{ type: "run_paused", session_id: log.state.id, reason }]);
    this.#isEnded = true;
    return reason;
  }

  get #tools(): ToolsContext {
    return { ...this.#options, budget: this.#budget, signal: this.#stop.signal };
  }

  async #loop({ isStarted = false } = {}): Promise<TurnEnd> {
    if (isStarted) {
      const end = await this.#step();
      if (end) return end;
    }
    const { log, budget, compaction } = this.#options;
    for (;;) {
      this.#stop.signal.throwIfAborted();
      if (await this.#isSpent()) return "budget_exhausted";
      if (this.#calls >= (budget.maxModelCalls ?? MODEL_CALLS_MAX)) return "turn_limit";
      if (compaction) {
        const paid = await compactIfDue(log, { ...this.#options, compaction }, this.#stop.signal);
        this.#spend(paid);
        if (await this.#isSpent()) return "budget_exhausted";
      }
      await log.commit([...(await this.#recall()), this.#started()]);
      const end = await this.#step();
      if (end) return end;
    }
  }

  /** Calls the model, and runs the tools that it calls. Returns how the turn ends, if it does. */
  async #step(): Promise<TurnEnd | undefined> {
    const reply = await this.#callModel();
    if (!reply) return "budget_exhausted";
    const { calls, verdicts } = await this.#record(reply);
    if (calls.length > 0) {
      if (!(await runTools(calls, this.#tools, { verdicts }))) return await this.#pause();
    } else if (this.#isEnded) return turnEnd(reply);
    return undefined;
  }

  /** Emits the budget warnings that are due. Returns whether the budget is exhausted. */
  async #isSpent(): Promise<boolean> {
    const warnings = this.#budget.warnings();
    if (warnings.length > 0) await this.#options.log.commit(warnings);
    return this.#budget.exhausted;
  }

  /**
   * The model's answer. Undefined when the budget ended before it. A history
   * that the provider calls too long gets smaller, again and again, until it
   * fits or nothing is left that may leave.
   */
  async #callModel(): Promise<ModelReply | undefined> {
    const { log, compaction } = this.#options;
    for (let tries = 0; ; tries += 1) {
      try {
        return await this.#attempt();
      } catch (error) {
        const tooLong = SessionError.is(error) && error.code === "CONTEXT_WINDOW_EXCEEDED";
        if (!tooLong || !compaction) throw error;
        const trigger = { why: "overflow", tries } as const;
        const parts = { ...this.#options, compaction };
        await log.commit([overflowEvent(log.state, parts)]);
        const outcome = await runCompaction(log, parts, trigger, this.#stop.signal);
        this.#spend(outcome.usage);
        if (!outcome.changed) throw error;
        if (await this.#isSpent()) return undefined;
      }
    }
  }

  async #attempt(): Promise<ModelReply> {
    const { log, model, tools, maxTokens, retry, traces } = this.#options;
    this.#partial = "";
    this.#estimated = requestTokens(log.state, tools);
    const reply = await callModel(
      model,
      {
        messages: log.state.sentMessages,
        tools: tools.definitions,
        ...(maxTokens === undefined ? {} : { maxTokens }),
        signal: this.#stop.signal,
      },
      {
        retry,
        traces,
        sessionId: log.state.id,
        onDelta: (event) => {
          if (event.type === "text_delta") this.#partial += event.delta;
          log.stream(event);
        },
        onRetry: async ({ attempt, maxAttempts: max_attempts, error, delayMs: delay_ms }) => {
          this.#partial = "";
          await log.commit([{ type: "retrying", attempt, max_attempts, error, delay_ms }]);
        },
      },
    );
    this.#partial = "";
    return reply;
  }

  /** Logs an answer whole, in one batch, with the run's end if it is that; returns the calls that it makes. */
  async #record(
    reply: ModelReply,
  ): Promise<{ readonly calls: readonly ToolUse[]; readonly verdicts: Verdicts }> {
    const { blocks, stopReason, usage, origin } = reply;
    const calls = toolUses({ role: "block_assistant", blocks, stop_reason: stopReason });
    const text = blocks.flatMap((block) => (block.block_type === "text" ? [block.data.text] : []));
    if (text.length > 0) this.#text = text.join("\n");
    const verdicts = judgeCalls(calls, this.#options);
    const isLast = calls.length === 0 && stopReason !== "pause_turn";
    await this.#options.log.commit([
      ...blocks.map(eventOfBlock),
      {
        type: "turn_completed",
        stop_reason: stopReason,
        usage,
        ...(origin ? { origin } : {}),
        model: this.#options.model.id,
        estimated_input_tokens: this.#estimated,
      },
      ...announcedCalls(calls, verdicts, this.#options),
      ...(isLast ? [this.#completion(usage)] : []),
    ]);
    this.#isEnded = isLast;
    this.#spend(usage);
    return { calls, verdicts };
  }

  /** The run's end, after a call that used `usage` and is not logged yet. */
  #completion(usage: Usage = NO_USAGE): DurableEvent {
    const { state } = this.#options.log;
    const total = addUsage(state.usage, usage);
    return { type: "run_completed", session_id: state.id, result: this.#text, usage: total };
  }

  #result(stopReason: TurnEnd): RunResult {
    const { toolCalls } = this.#budget;
    return {
      text: this.#text,
      stopReason,
      turns: this.#options.log.state.turns,
      modelCalls: this.#calls,
      toolCalls,
      usage: tokenUsage(this.#usage),
    };
  }

  /** Leaves the session in order and logs the run's failure. */
  async #fail(error: unknown): Promise<SessionError> {
    const { log, signal } = this.#options;
    const failure = signal.aborted
      ? new SessionError("TURN_INTERRUPTED", { cause: signal.reason })
      : SessionError.from(error, "AGENT_ERROR");
    // A log that fails cannot be written to; the next turn closes this one's open calls.
    if (failure.code === "SESSION_STORE_ERROR" || failure.code === "SESSION_CONFLICT")
      return failure;
    if (signal.aborted) await this.#keepPartial();
    await this.#closeOpenCalls(ERRORS[failure.code].message);
    await log.commit([runFailed(log.state.id, failure)]);
    return failure;
  }

  /** Logs what the model had said of an answer that was cut off: whoever listened has seen it. */
  async #keepPartial(): Promise<void> {
    const content = this.#partial;
    if (content.trim() === "") return;
    this.#text = content;
    await this.#options.log.commit([
      { type: "text_complete", content },
      { type: "turn_completed", stop_reason: "cancelled", usage: NO_USAGE },
    ]);
  }

  async #closeOpenCalls(why: string): Promise<void> {
    const { log } = this.#options;
    await log.commit(closingEvents(interruptedCalls(log.state), why));
  }

  #spend(usage: Usage): void {
    this.#usage = addUsage(this.#usage, usage);
    this.#budget.countCall(usage);
  }
}

function turnEnd({ stopReason }: ModelReply): TurnEnd {
  switch (stopReason) {
    case "max_tokens":
    case "stop_sequence":
    case "content_filter":
      return stopReason;
    default:
      return "end_turn";
  }
}

/**
 * Closes a run whose process was killed. Calls without a result get one that says so, and the run
 * ends. Calls that wait for approval have had no effects, so they go on waiting.
 */
export async function recoverRun(log: TurnLog): Promise<void> {
  const { state } = log;
  const why = "The process ended before the call did; it may have had effects.";
  const events = closingEvents(interruptedCalls(state), why);
  if (state.running) {
    const failure = new SessionError("TURN_INTERRUPTED", { detail: "Its process ended." });
    events.push(runFailed(state.id, failure));
  }
  if (events.length > 0) await log.commit(events);
}
