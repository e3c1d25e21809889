import type { Workspace } from "../../../config/workspace.ts";
import type { Approve } from "../../../core/approval.ts";
import { SessionError } from "../../../core/errors.ts";
import type { EventEnvelope, SessionEvent } from "../../../core/event.ts";
import { given } from "../../../core/fields.ts";
import { joinSignals } from "../../../core/join-signals.ts";
import type { StartTurn } from "../../../core/requests.ts";
import type { SessionService, TurnOptions, TurnResult } from "../../../core/session-service.ts";
import type { CliContext } from "../cli-context.ts";
import { hasWaitingCall } from "../commands/find-session.ts";
import { budgetOf, type RunFlags, type SessionFlags, sessionOf } from "../commands/run-flags.ts";
import { printable } from "../render/printable.ts";
import { renderEvent } from "../render/render-event.ts";
import { type Style, styleFor } from "../render/style.ts";
import {
  answerOf,
  approvalQuestion,
  isTypedAhead,
  notAnswered,
  renderCall,
} from "../terminal/approval-prompt.ts";
import { LearnedRules } from "../terminal/learned-rules.ts";
import { exitCodeOf, printFailure } from "../terminal/print.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { TurnView } from "../terminal/turn-view.ts";
import type { Conversation } from "./conversation.ts";
import { LineEditor } from "./line-editor.ts";
import { commandIn, completeCommand } from "./slash-commands.ts";

export type ChatFlags = RunFlags & SessionFlags;

export interface ChatOptions {
  readonly context: CliContext;
  readonly workspace: Workspace;
  readonly service: SessionService;
  readonly flags: ChatFlags;
  /** Earlier prompts, the last line first. */
  readonly history: readonly string[];
}

/**
 * A conversation at the terminal. A line that begins with a slash is a command; any
 * other is a prompt. The first prompt creates the session, so that a look around
 * leaves none behind.
 */
export class Chat implements Conversation {
  readonly service: SessionService;
  readonly workspace: Workspace;
  readonly terminal: Terminal;
  readonly style: Style;
  readonly editor: LineEditor;
  sessionId: string | undefined;
  model: string | undefined;
  readonly #context: CliContext;
  readonly #flags: ChatFlags;
  #left = false;
  #running: { readonly view: TurnView; readonly stop: AbortController } | undefined;

  constructor({ context, workspace, service, flags, history }: ChatOptions) {
    const { terminal } = context;
    this.#context = context;
    this.terminal = terminal;
    this.workspace = workspace;
    this.service = service;
    this.style = styleFor(terminal.stdout, terminal.env);
    this.#flags = flags;
    this.model = flags.model;
    this.editor = new LineEditor(terminal.takeChat(), {
      history,
      complete: (line) => completeCommand(this, line),
    });
  }

  /** Reads and answers until the user leaves. `resumed` names a session to continue. */
  async run(resumed?: string): Promise<void> {
    let interrupted = false;
    try {
      if (resumed !== undefined) await this.#answer(`/resume ${resumed}`);
      while (!this.#left) {
        const typed = await this.editor.read(await this.#prompt());
        if (typed.type === "end" || (typed.type === "interrupt" && interrupted)) return;
        interrupted = typed.type === "interrupt";
        if (interrupted) await this.note("Press Ctrl-C again to leave. /help lists the commands.");
        if (typed.type === "text" && typed.text.trim() !== "") await this.#answer(typed.text);
      }
    } finally {
      this.editor.close();
    }
  }

  leave(): void {
    this.#left = true;
  }

  async say(text: string): Promise<void> {
    await this.terminal.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
  }

  async note(text: string): Promise<void> {
    const { stderr, env } = this.terminal;
    await stderr.write(styleFor(stderr, env).dim(`${text}\n`));
  }

  requireSession(): string {
    if (this.sessionId !== undefined) return this.sessionId;
    throw new SessionError("INVALID_PARAMS", {
      message: "There is no session yet.",
      hint: "Your first prompt creates one. /resume continues an earlier one.",
    });
  }

  async resume(sessionId: string): Promise<void> {
    this.sessionId = sessionId;
    if (await hasWaitingCall(this.service, sessionId)) await this.#turn(undefined);
  }

  /** Asks at the prompt whether a tool call may run. Ctrl-C stops the turn. */
  readonly approve: Approve = async (call, { signal, always }) => {
    this.#running?.view.end();
    await this.say(renderCall(call, this.style, always));
    const askedAt = performance.now();
    for (;;) {
      const typed = await this.editor.read(this.style.cyan(approvalQuestion(always)), signal);
      if (typed.type !== "text") break;
      const answer = isTypedAhead(askedAt, this.terminal)
        ? undefined
        : answerOf(typed.text, always);
      if (answer) return answer;
      await this.say(notAnswered(always));
    }
    this.#running?.stop.abort();
    return undefined;
  };

  /** Runs a command or a turn. A failure is printed, and the conversation goes on. */
  async #answer(text: string): Promise<void> {
    try {
      const command = commandIn(text);
      await (command ? command(this) : this.#turn(text));
    } catch (thrown) {
      const error = SessionError.from(thrown);
      if (error.code === "TURN_INTERRUPTED") {
        return await this.note("Interrupted. The answer so far is kept.");
      }
      await printFailure(this.terminal, error);
      // A script that pipes prompts in looks at the exit code. A person has seen the failure.
      if (!this.terminal.stdin.isTerminal) this.#context.exitCode = exitCodeOf(error);
    }
  }

  /** Runs a turn. Without a prompt, it continues the one whose calls waited for approval. */
  async #turn(prompt: string | undefined): Promise<void> {
    const { terminal } = this;
    const sessionId = this.sessionId ?? (await this.#createSession());
    const stream = this.#flags.stream ?? terminal.stdout.isTerminal;
    const view = new TurnView(terminal, {
      stream,
      shown: this.#flags.verbose ? renderEvent : renderWork,
    });
    const learned = new LearnedRules(sessionId);
    const onEvent = (event: EventEnvelope) => {
      learned.onEvent(event);
      view.onEvent(event);
    };
    const stop = new AbortController();
    this.#running = { view, stop };
    view.waiting();
    const request = {
      sessionId,
      budget: budgetOf(this.#flags, this.workspace.config),
      ...given({ model: this.model, maxTokens: this.#flags.maxTokens }),
    };
    const result = await terminal
      .interruptible((interrupted) => {
        const { signal, release } = joinSignals([interrupted, stop.signal]);
        return this.#run(prompt, request, { signal, onEvent }).finally(release);
      })
      .finally(() => view.end());
    await this.#show(result, stream);
    for (const line of await learned.notes(this.service)) await this.note(line);
  }

  #run(
    prompt: string | undefined,
    request: Omit<StartTurn, "prompt">,
    options: TurnOptions,
  ): Promise<TurnResult> {
    if (prompt === undefined) return this.service.resume(request, options);
    const origin = this.terminal.stdin.isTerminal ? {} : { origin: { author: "file" as const } };
    return this.service.startTurn({ ...request, prompt, ...origin }, options);
  }

  async #show({ text, stopReason }: TurnResult, streamed: boolean): Promise<void> {
    if (!streamed) await this.say(this.terminal.stdout.isTerminal ? printable(text) : text);
    if (stopReason !== "end_turn") await this.note(`(${stopReason.replaceAll("_", " ")})`);
  }

  async #createSession(): Promise<string> {
    const flags = { ...this.#flags, ...given({ model: this.model }) };
    const request = sessionOf(flags, this.workspace);
    const { sessionId } = await this.service.createSession(request);
    this.sessionId = sessionId;
    return sessionId;
  }

  /** The prompt, with how full the context window is: `12% › `. */
  async #prompt(): Promise<string> {
    const { sessionId } = this;
    const share = sessionId === undefined ? "" : await this.#fullness(sessionId);
    return `${this.style.dim(share)}${this.style.cyan("› ")}`;
  }

  async #fullness(sessionId: string): Promise<string> {
    const { usedTokens, threshold, contextWindow } = await this.service.context({ sessionId });
    const most = threshold ?? contextWindow;
    return most === null ? "" : `${Math.round((100 * usedTokens) / most)}% `;
  }
}

/** The events that a chat shows without `--verbose`. */
function renderWork(event: SessionEvent): string {
  return SHOWN.includes(event.type) ? renderEvent(event) : "";
}

const SHOWN: readonly SessionEvent["type"][] = [
  "tool_execution_completed",
  "tool_execution_timed_out",
  "compaction_completed",
  "compaction_failed",
  "tool_output_pruned",
  "budget_warning",
  "retrying",
];
