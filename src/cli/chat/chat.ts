import { requireModelOf } from "../../app/open-project-service.ts";
import { hasCapability, type Workspace } from "../../config/workspace.ts";
import type { Approve } from "../../core/approval.ts";
import { causeTexts, SessionError } from "../../core/errors.ts";
import type { EventEnvelope } from "../../core/event.ts";
import { given } from "../../core/fields.ts";
import { joinSignals } from "../../core/join-signals.ts";
import type { StartTurn, TurnOptions, TurnResult } from "../../core/operations/turns.ts";
import type { SessionService } from "../../core/session-service.ts";
import { calledIn, withCalls } from "../called-in.ts";
import type { CliContext } from "../cli-context.ts";
import { hasWaitingCall } from "../commands/find-session.ts";
import { budgetOf, type RunFlags, type SessionFlags, sessionOf } from "../commands/run-flags.ts";
import { shortId } from "../render/render-sessions.ts";
import { type Style, styleFor } from "../render/style.ts";
import { CallQuestion } from "../terminal/approval-prompt.ts";
import { exitCodeOf, printFailure } from "../terminal/print.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { LearnedRules } from "../terminal/turn-view.ts";
import type { ChatScreen, Conversation, TurnDisplay } from "./conversation.ts";
import { renderStart } from "./render-status.ts";
import { commandIn, isQuit } from "./slash-commands.ts";

export type ChatFlags = RunFlags & SessionFlags;

export interface ChatOptions {
  readonly context: CliContext;
  readonly workspace: Workspace;
  readonly service: SessionService;
  readonly flags: ChatFlags;
  readonly screen: ChatScreen;
  /** Which tools the model has in the project's folder, for the user. */
  readonly toolsNote: string;
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
  readonly screen: ChatScreen;
  sessionId: string | undefined;
  model: string | undefined;
  readonly #context: CliContext;
  readonly #flags: ChatFlags;
  readonly #toolsNote: string;
  #left = false;
  /** Whether the user stopped the turn instead of answering its question. */
  #unanswered = false;
  #running: { readonly display: TurnDisplay; readonly stop: AbortController } | undefined;

  constructor({ context, workspace, service, flags, screen, toolsNote }: ChatOptions) {
    const { terminal } = context;
    this.#context = context;
    this.terminal = terminal;
    this.workspace = workspace;
    this.service = service;
    this.screen = screen;
    this.style = styleFor(terminal.stdout, terminal.env);
    this.#flags = flags;
    this.#toolsNote = toolsNote;
    this.model = flags.model;
  }

  /** Reads and answers until the user leaves. `resumed` is the id of a session to continue. */
  async run(resumed?: string): Promise<void> {
    const { screen } = this;
    let interrupted = false;
    try {
      await this.#welcome();
      // A person reads before typing. What a pipe asks may fail for the same reason, and says it then.
      if (this.terminal.stdin.isTerminal) this.#context.warnings.end();
      if (resumed !== undefined) await this.#answer(`/resume ${resumed}`);
      while (!this.#left) {
        await this.#showStatus();
        const typed = await screen.read();
        if (typed.type === "end" || (typed.type === "interrupt" && interrupted)) break;
        interrupted = typed.type === "interrupt";
        if (interrupted) {
          await screen.note("Press Ctrl-C again to leave. /help lists the commands.");
        }
        if (typed.type === "text" && typed.text.trim() !== "") await this.#answer(typed.text);
      }
      await this.#farewell();
    } finally {
      screen.close();
    }
  }

  get rkat(): string {
    return this.#context.rkat;
  }

  leave(): void {
    this.#left = true;
  }

  async useModel(name: string): Promise<void> {
    await requireModelOf(this.workspace.config, name);
    this.model = name;
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
    this.#running?.display.end();
    const { stdin, stdout: output } = this.terminal;
    const question = new CallQuestion(call, this.style, { always, stdin, output });
    await this.screen.say(question.page());
    for (;;) {
      const typed = await this.screen.read({ text: this.style.cyan(question.text), signal });
      this.#unanswered = typed.type === "end" || typed.type === "interrupt";
      if (typed.type !== "text") break;
      if (isQuit(typed.text)) {
        this.#unanswered = true;
        this.leave();
        break;
      }
      const taken = question.take(typed.text);
      if ("answer" in taken) return taken.answer;
      await this.screen.say(taken.shown);
    }
    this.#running?.stop.abort();
    return undefined;
  };

  /** Runs a command or a turn. A failure is printed, and the conversation goes on. */
  async #answer(text: string): Promise<void> {
    const { warnings } = this.#context;
    warnings.wait();
    try {
      const command = commandIn(text);
      await (command ? command(this) : this.#turn(text));
      warnings.end();
    } catch (thrown) {
      const error = SessionError.from(thrown);
      warnings.end(...causeTexts(error));
      if (error.code === "TURN_INTERRUPTED") {
        const note = this.#unanswered ? calledIn(UNANSWERED, this.rkat) : INTERRUPTED;
        return await this.screen.note(note);
      }
      const output = { stderr: this.screen.stderr, env: this.terminal.env };
      await printFailure(output, withCalls(error, this.rkat));
      // A script that pipes prompts in looks at the exit code. A person has seen the failure.
      if (!this.terminal.stdin.isTerminal) this.#context.exitCode = exitCodeOf(error);
    }
  }

  /** Runs a turn. Without a prompt, it continues the one whose calls waited for approval. */
  async #turn(prompt: string | undefined): Promise<void> {
    this.#unanswered = false;
    const { terminal } = this;
    const sessionId = this.sessionId ?? (await this.#createSession());
    const display = this.screen.turn({
      stream: this.#flags.stream ?? terminal.stdout.isTerminal,
      verbose: this.#flags.verbose === true,
    });
    const learned = new LearnedRules(sessionId);
    const onEvent = (event: EventEnvelope) => {
      learned.onEvent(event);
      display.onEvent(event);
    };
    const stop = new AbortController();
    this.#running = { display, stop };
    const request = {
      sessionId,
      budget: budgetOf(this.#flags, this.workspace.config),
      ...given({ model: this.model, maxTokens: this.#flags.maxTokens }),
    };
    const result = await terminal
      .interruptible(
        (interrupted) => {
          const { signal, release } = joinSignals([interrupted, stop.signal]);
          return this.#run(prompt, request, { signal, onEvent }).finally(release);
        },
        { goesOn: true },
      )
      .finally(() => display.end());
    await display.finish(result.text);
    if (result.stopReason !== "end_turn") {
      await this.screen.note(`(${result.stopReason.replaceAll("_", " ")})`);
    }
    for (const line of await learned.notes(this.service, this.#context))
      await this.screen.note(line);
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

  async #createSession(): Promise<string> {
    const flags = { ...this.#flags, ...given({ model: this.model }) };
    const request = sessionOf(flags, this.workspace);
    const { sessionId } = await this.service.createSession(request);
    this.sessionId = sessionId;
    return sessionId;
  }

  /** A script that reads the output gets the answers only. */
  async #welcome(): Promise<void> {
    const { terminal, service, workspace, style } = this;
    const tools = this.#toolsNote;
    if (!terminal.stdin.isTerminal || !terminal.stdout.isTerminal) {
      if (tools !== "" && terminal.stderr.isTerminal) await this.screen.note(tools);
      return;
    }
    const home = terminal.env.HOME;
    const folder =
      home && workspace.folder.startsWith(`${home}/`)
        ? `~${workspace.folder.slice(home.length)}`
        : workspace.folder;
    // A count that fails is left out: the chat works without it.
    const [memory, rules] = await Promise.all([
      service.memoryStats({}).catch(() => undefined),
      service.listKnowledge({ kind: "rule", limit: RULES_COUNTED }).catch(() => []),
    ]);
    const start = {
      version: this.#context.version,
      model: this.model ?? workspace.config.get("model"),
      folder,
      rules: rules.length,
      ...given({ memory, tools }),
    };
    await this.screen.say(renderStart(start, style));
  }

  async #farewell(): Promise<void> {
    if (this.sessionId === undefined || !this.terminal.stdin.isTerminal) return;
    if (!hasCapability(this.workspace.config, "session-store")) return;
    await this.screen.note(
      `To continue: ${this.#context.rkat} chat --resume ${shortId(this.sessionId)}`,
    );
  }

  async #showStatus(): Promise<void> {
    const { sessionId, service, screen } = this;
    // The session may be deleted elsewhere. The next prompt says so.
    const context = sessionId && (await service.context({ sessionId }).catch(() => undefined));
    if (!context) {
      return screen.status({
        model: this.model ?? this.workspace.config.get("model") ?? "no model",
      });
    }
    const { model, usedTokens, threshold, contextWindow } = context;
    screen.status({
      model: this.model ?? model,
      sessionId,
      usedTokens,
      compacts: threshold !== null,
      ...given({ tokensMax: threshold ?? contextWindow ?? undefined }),
    });
  }
}

const RULES_COUNTED = 1000;
const INTERRUPTED = "Interrupted. What was said so far is kept.";
const UNANSWERED =
  "Interrupted. The call still waits. /resume asks again, and your next prompt denies it. Outside of the chat: `rkat approvals`.";
