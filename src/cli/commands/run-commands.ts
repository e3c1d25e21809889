import type { Command } from "commander";
import { openProjectService } from "../../app/open-project-service.ts";
import { useOpened } from "../../app/opened.ts";
import type { Config } from "../../config/config.ts";
import { hasCapability } from "../../config/workspace.ts";
import { ERRORS, SessionError } from "../../core/errors.ts";
import type { EventEnvelope, SessionEvent } from "../../core/event.ts";
import { given } from "../../core/fields.ts";
import {
  type ResumeTurn,
  type TurnEnd,
  type TurnOptions,
  type TurnResult,
  turnResult,
} from "../../core/operations/turns.ts";
import type { SessionService } from "../../core/session-service.ts";
import { toWire } from "../../core/wire.ts";
import { nearestName } from "../../text/nearest-name.ts";
import { shellWord } from "../../text/quoting.ts";
import type { CliContext } from "../cli-context.ts";
import { printable } from "../render/printable.ts";
import { renderEvent } from "../render/render-event.ts";
import { shortId } from "../render/render-sessions.ts";
import { styleFor } from "../render/style.ts";
import { readPrompt } from "../terminal/input-file.ts";
import { printEnd, printEvent, printJson } from "../terminal/print.ts";
import { LearnedRules, TurnView } from "../terminal/turn-view.ts";
import { findSession, hasWaitingCall } from "./find-session.ts";
import { SESSION_ARGUMENT } from "./flags.ts";
import {
  addSessionFlags,
  addTurnFlags,
  askingOf,
  budgetOf,
  compactionOf,
  promptSource,
  type SessionFlags,
  sessionOf,
  type TurnFlags,
} from "./run-flags.ts";
import { sayTools, withService, workspaceOf } from "./with-service.ts";

/** `rkat run`, and `rkat "prompt"`. */
export function runCommand(program: Command, context: CliContext, names: readonly string[]): void {
  const { terminal } = context;
  const command = program
    .command("run", { isDefault: true })
    .argument(
      "[prompt...]",
      "the prompt; piped input comes before it, or is the prompt: `rkat run < prompt.md`",
    );
  addSessionFlags(addTurnFlags(command)).action(
    async (words: string[], flags: TurnFlags & SessionFlags) => {
      refuseTypo(program, words, names);
      refuseSubcommand(program, words);
      const workspace = await workspaceOf(context, command);
      const { config } = workspace;
      const session = sessionOf(flags, workspace);
      const prompt = await readPrompt(words, promptSource(terminal, flags.onApproval));
      const asking = askingOf(terminal, flags, config);
      const opened = await openProjectService(workspace, "create", asking);
      if (!flags.quiet) await sayTools(terminal, opened);
      await useOpened(opened, async (service) => {
        const { sessionId } = await service.createSession(session);
        const request = { sessionId, ...prompt, budget: budgetOf(flags, config) };
        await showTurn(context, config, flags, request, service, (...turn) =>
          service.startTurn(...turn),
        );
      });
    },
  );
}

/** `rkat resume` and `rkat continue`. */
export function resumeCommands(program: Command, context: CliContext): void {
  const resume = program
    .command("resume")
    .argument("<session>", SESSION_ARGUMENT)
    .argument("[prompt...]", "the prompt; optional when a tool call waited for approval");
  addTurnFlags(resume).action((session: string, words: string[], flags: TurnFlags) =>
    resumeSession(context, resume, session, words, flags),
  );

  const next = program
    .command("continue")
    .alias("c")
    .argument("[prompt...]", "the prompt (default: Continue.)");
  addTurnFlags(next).action((words: string[], flags: TurnFlags) => {
    refuseSession(words);
    return resumeSession(context, next, "last", words, flags, "Continue.");
  });
}

function resumeSession(
  context: CliContext,
  command: Command,
  session: string,
  words: readonly string[],
  flags: TurnFlags,
  fallback?: string,
): Promise<void> {
  const { terminal } = context;
  return withService(
    context,
    command,
    async (service, workspace) => {
      const { config } = workspace;
      const sessionId = await findSession(service, session, { workspace });
      const source = promptSource(terminal, flags.onApproval);
      // A prompt denies a waiting call. Without a prompt, the turn of that call continues.
      const waits = fallback === undefined || (await hasWaitingCall(service, sessionId));
      const prompt = await readPrompt(words, source, waits ? null : fallback);
      const { model, maxTokens } = flags;
      const request = {
        sessionId,
        budget: budgetOf(flags, config),
        ...prompt,
        ...given({ model, maxTokens, compaction: compactionOf(flags) }),
      };
      await showTurn(context, config, flags, request, service, (...turn) =>
        service.resume(...turn),
      );
    },
    { asking: ({ config }) => askingOf(terminal, flags, config), saysTools: !flags.quiet },
  );
}

const SESSION_NAME = /^(?:~\d{1,6}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/;

/** `rkat continue` goes on in the last session. The name of another one must not be sent to a model as the prompt. */
function refuseSession([first = ""]: readonly string[]): void {
  if (!SESSION_NAME.test(first)) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `"${first}" names a session, and \`rkat continue\` goes on in the last one.`,
    hint: `To go on in that session: \`rkat resume ${first} "…"\`.`,
  });
}

/**
 * `rkat sesions list` is a typo, which must not be sent to a model as a prompt. A text with spaces,
 * capitals or punctuation is a prompt.
 */
function refuseTypo(program: Command, words: readonly string[], names: readonly string[]): void {
  const [first = ""] = words;
  const asked = program.args[0] === "run";
  const near = nearestName(first, names);
  const isName = /^[a-z-]+$/.test(first);
  if (asked || !isName || words.length > 3 || near === undefined || near === first) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `"${first}" is not a command.`,
    hint: `Did you mean \`rkat ${near}\`? To send it as a prompt: \`rkat run ${quoted(words)}\`.`,
  });
}

/**
 * `rkat search port` lacks a group, and `rkat forget this` sent to a model would store what was to go. More words than
 * two are a sentence.
 */
function refuseSubcommand(program: Command, words: readonly string[]): void {
  const [first = ""] = words;
  if (program.args[0] === "run" || words.length > 2) return;
  const meant =
    words.length === 1 && first === "version"
      ? ["rkat --version"]
      : program.commands
          .filter((group) => group.commands.some((command) => command.name() === first))
          .map((group) => `rkat ${group.name()} ${first}`);
  if (meant.length === 0) return;
  const named = meant.map((command) => `\`${command}\``).join(" or ");
  throw new SessionError("INVALID_PARAMS", {
    message: `"${first}" is not a command.`,
    hint: `Did you mean ${named}? To send it as a prompt: \`rkat run ${quoted(words)}\`.`,
  });
}

/** A prompt as it can be pasted into a shell. */
function quoted(words: readonly string[]): string {
  const prompt = words.join(" ");
  return /["$`\\!]/.test(prompt) ? shellWord(prompt) : `"${prompt}"`;
}

/** A provider that fails is tried again for seconds, which is told also where no line shows the progress. */
function waitingLine(event: SessionEvent): string {
  return event.type === "retrying" ? renderEvent(event) : "";
}

/** Runs one turn and shows how it goes and how it ended. Ctrl-C interrupts it. */
async function showTurn<Request extends ResumeTurn>(
  context: CliContext,
  config: Config,
  flags: TurnFlags,
  request: Request,
  service: Pick<SessionService, "listKnowledge">,
  run: (request: Request, options: TurnOptions) => Promise<TurnResult>,
): Promise<void> {
  const { terminal, rkat } = context;
  const isKept = hasCapability(config, "session-store");
  const stream = flags.output === "text" && (flags.stream ?? terminal.stdout.isTerminal);
  const shownOf = flags.quiet ? () => "" : flags.verbose ? renderEvent : waitingLine;
  const view = new TurnView(terminal, { stream, shown: shownOf, quiet: flags.quiet ?? false });
  const learned = new LearnedRules(request.sessionId);
  const onEvent = (event: EventEnvelope) => {
    learned.onEvent(event);
    if (flags.output === "jsonl") printEvent(terminal.stdout, event);
    view.onEvent(event);
  };
  if (!flags.quiet) view.waiting();
  const result = await terminal
    .interruptible((signal) => run(request, { signal, onEvent }))
    .catch((error: unknown) => {
      throw isKept ? withHint(error, request.sessionId) : error;
    })
    .finally(() => view.end());

  if (flags.output === "json") await printJson(terminal.stdout, toWire(turnResult, result));
  else if (flags.output === "jsonl") {
    await printEnd(terminal.stdout, "result", toWire(turnResult, result));
  } else {
    if (!stream && result.text !== "") {
      await terminal.stdout.write(`${shown(result.text, terminal.stdout.isTerminal)}\n`);
    }
    if (!flags.quiet) {
      await terminal.stderr.write(styleFor(terminal.stderr, terminal.env).dim(footer(result)));
    }
  }
  const notes = flags.quiet ? [] : await learned.notes(service, context);
  for (const line of notes) await terminal.stderr.write(`${line}\n`);
  const note = NOTES[result.stopReason];
  const way = isKept ? ` To continue: \`${rkat} continue\`.` : "";
  if (note) await terminal.stderr.write(`note: ${note}${way}\n`);
  if (result.stopReason === "approval_required") {
    await terminal.stderr.write(waitingNote(rkat));
    context.exitCode = ERRORS.APPROVAL_REQUIRED.exitCode;
  }
  if (result.stopReason === "budget_exhausted") {
    context.exitCode = ERRORS.BUDGET_EXHAUSTED.exitCode;
  }
}

function waitingNote(rkat: string): string {
  return `note: a tool call waits for approval. See it with \`${rkat} approvals list\`, answer it with \`${rkat} approvals allow\` or \`${rkat} approvals deny --reason …\`, then continue with \`${rkat} continue\`. To run calls of a tool without approval: \`--allow TOOL\`.\n`;
}

/** The reason why an answer may be incomplete. */
const NOTES: Partial<Record<TurnEnd, string>> = {
  max_tokens: "the answer is incomplete: it reached the output tokens of one call.",
  content_filter: "the answer is incomplete: the provider's content filter stopped it.",
  turn_limit: "the run reached its limit of model calls.",
  budget_exhausted: "the budget of the run is used up.",
};

function footer({ sessionId, turns, usage }: TurnResult): string {
  const tokens = `${usage.inputTokens} in / ${usage.outputTokens} out`;
  return `[Session: ${shortId(sessionId)} | Turns: ${turns} | Tokens: ${tokens}]\n`;
}

/** An interrupted turn can be continued: the hint says how. */
function withHint(error: unknown, sessionId: string): unknown {
  if (!SessionError.is(error) || error.code !== "TURN_INTERRUPTED") return error;
  const hint = `The session is kept. Continue with \`rkat continue\` or \`rkat resume ${sessionId} "…"\`.`;
  return new SessionError("TURN_INTERRUPTED", { hint, cause: error });
}

function shown(text: string, onTerminal: boolean): string {
  return onTerminal ? printable(text) : text;
}
