import type { Workspace } from "../../../config/workspace.ts";
import type { Approve } from "../../../core/approval.ts";
import { SessionError } from "../../../core/errors.ts";
import type { SessionEvent } from "../../../core/event.ts";
import type { StartTurn } from "../../../core/requests.ts";
import type { SessionService, TurnOptions, TurnResult } from "../../../core/session-service.ts";
import type { CliContext } from "../cli-context.ts";
import { callWaits } from "../commands/call-waits.ts";
import { given } from "../commands/flags.ts";
import { requireModel } from "../commands/require-model.ts";
import { sessionOf } from "../commands/session-flags.ts";
import { budgetOf } from "../commands/turn-flags.ts";
import { oneLine, printable } from "../render/printable.ts";
import { renderEvent } from "../render/render-event.ts";
import { exitCodeOf, renderFailure } from "../render/render-failure.ts";
import { type Style, styleFor } from "../render/style.ts";
import { TurnView } from "../terminal/turn-view.ts";
import { askApproval } from "./ask-approval.ts";
import type { ChatFlags } from "./chat-command.ts";
import { completeCommand, findCommand, nearestCommand } from "./chat-commands.ts";
import { LineEditor } from "./line-editor.ts";
import { gauge } from "./token-gauge.ts";

export interface ChatParts {
  readonly context: CliContext;
  readonly workspace: Workspace;
  readonly service: SessionService;
  readonly flags: ChatFlags;
  /** What was asked before, the last line first. */
  readonly history: readonly string[];
}

/**
 * A conversation at the terminal: what is typed is a prompt, what begins with a
 * slash is a command. A session is made by the first prompt, so that looking
 * around leaves none behind.
 */
export class Chat {
  readonly service: SessionService;
  readonly workspace: Workspace;
  readonly context: CliContext;
  readonly style: Style;
  readonly editor: LineEditor;
  /** The session that is talked in; `undefined` before the first prompt. */
  sessionId: string | undefined;
  /** Who answers, when it is not the session's own model. */
  model: string | undefined;
  readonly #flags: ChatFlags;
  #left = false;
  #running: { readonly view: TurnView; readonly stop: AbortController } | undefined;

  constructor({ context, workspace, service, flags, history }: ChatParts) {
    const { terminal } = context;
    this.context = context;
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

  /** Reads until somebody leaves. `resumed` names a session to go on with. */
  async run(resumed?: string): Promise<void> {
    let interrupted = false;
    try {
      if (resumed !== undefined) await this.#answer(`/resume ${resumed}`);
      while (!this.#left) {
        const typed = await this.editor.read(await this.#prompt());
        if (typed.type === "end" || (typed.type === "interrupt" && interrupted)) return;
        interrupted = typed.type === "interrupt";
        if (interrupted) await this.note("Ctrl-C again leaves; /help says what there is.");
        if (typed.type === "text" && typed.text.trim() !== "") await this.#answer(typed.text);
      }
    } finally {
      this.editor.close();
    }
  }

  /** Nothing more is read. */
  leave(): void {
    this.#left = true;
  }

  /** Says something on standard output. */
  async say(text: string): Promise<void> {
    await this.context.terminal.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
  }

  /** Text of a model or a tool, safe to show on a terminal. */
  quoted(text: string): string {
    return this.context.terminal.stdout.isTerminal ? printable(text) : text;
  }

  /** Says something that is not an answer. */
  async note(text: string): Promise<void> {
    const { stderr, env } = this.context.terminal;
    await stderr.write(styleFor(stderr, env).dim(`${text}\n`));
  }

  /** The session that is talked in. */
  requireSession(): string {
    if (this.sessionId !== undefined) return this.sessionId;
    throw new SessionError("INVALID_PARAMS", {
      detail: "There is no session yet.",
      hint: "Your first prompt makes one; /resume goes on with an earlier one.",
    });
  }

  /** Asks whether a tool call may run; Ctrl-C stops the turn instead. */
  readonly approve: Approve = async (call, { signal }) => {
    this.#running?.view.end();
    const answer = await askApproval(call, this, signal);
    if (answer === undefined) this.#running?.stop.abort();
    return answer;
  };

  /** Goes on with an earlier session, and with a call in it that waits for approval. */
  async resume(sessionId: string): Promise<void> {
    this.sessionId = sessionId;
    if (await callWaits(this.service, sessionId)) await this.#turn(undefined);
  }

  /** A failure is told and the conversation goes on. */
  async #answer(text: string): Promise<void> {
    const { terminal } = this.context;
    try {
      const command = commandIn(text);
      if (command) await command.run(this);
      else await this.#turn(text);
    } catch (thrown) {
      const error = SessionError.from(thrown);
      if (error.code === "TURN_INTERRUPTED") {
        await this.note("Interrupted; what was said so far is kept.");
      } else {
        await terminal.stderr.write(renderFailure(error, styleFor(terminal.stderr, terminal.env)));
        // A script that pipes its prompts in wants to know; a person has seen it.
        if (!terminal.stdin.isTerminal) this.context.exitCode = exitCodeOf(error);
      }
    }
  }

  /** Without a prompt, on with a turn whose calls waited for approval. */
  async #turn(prompt: string | undefined): Promise<void> {
    const { terminal } = this.context;
    const sessionId = this.sessionId ?? (await this.#createSession());
    const stream = this.#flags.stream ?? terminal.stdout.isTerminal;
    const view = new TurnView(terminal, {
      stream,
      shown: this.#flags.verbose ? renderEvent : renderWork,
    });
    const stop = new AbortController();
    this.#running = { view, stop };
    view.waiting();
    const request = {
      sessionId,
      budget: budgetOf(this.#flags, this.workspace.config),
      ...given({ model: this.model, maxTokens: this.#flags.maxTokens }),
    };
    const result = await terminal
      .interruptible((signal) =>
        this.#run(prompt, request, {
          signal: AbortSignal.any([signal, stop.signal]),
          onEvent: view.onEvent,
        }),
      )
      .finally(() => view.end());
    await this.#show(result, stream);
  }

  #run(
    prompt: string | undefined,
    request: Omit<StartTurn, "prompt">,
    options: TurnOptions,
  ): Promise<TurnResult> {
    if (prompt === undefined) return this.service.resume(request, options);
    return this.service.startTurn({ ...request, prompt }, options);
  }

  async #show({ text, stopReason }: TurnResult, streamed: boolean): Promise<void> {
    if (!streamed) await this.say(this.quoted(text));
    if (stopReason !== "end_turn") await this.note(`(${stopReason.replaceAll("_", " ")})`);
  }

  async #createSession(): Promise<string> {
    requireModel(this.model, this.workspace);
    const request = sessionOf(
      { ...this.#flags, ...given({ model: this.model }) },
      this.workspace.config,
    );
    const { sessionId } = await this.service.createSession(request);
    this.sessionId = sessionId;
    return sessionId;
  }

  async #prompt(): Promise<string> {
    const share = this.sessionId === undefined ? "" : await gauge(this.service, this.sessionId);
    return `${this.style.dim(share)}${this.style.cyan("› ")}`;
  }
}

/** What a person at a prompt wants to see of a turn besides its answer. */
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

/** The command that a text is, with its argument; `undefined` when it is a prompt. */
function commandIn(text: string): { run(chat: Chat): Promise<void> } | undefined {
  const [, name, argument = ""] = /^\/([a-z]+|\?)(?:\s+(.*))?\s*$/s.exec(text) ?? [];
  if (name === undefined) return undefined;
  const command = findCommand(name);
  if (command) return { run: (chat) => command.run(chat, argument.trim()) };
  const near = nearestCommand(name);
  throw new SessionError("INVALID_PARAMS", {
    detail: `There is no command /${oneLine(name, 40)}.`,
    hint: `${near ? `Did you mean /${near}? ` : ""}/help lists them. To send the text as it is, begin it with a space.`,
  });
}
