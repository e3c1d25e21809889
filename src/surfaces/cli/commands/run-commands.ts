import type { Command } from "commander";
import { SessionError } from "../../../core/errors.ts";
import { given } from "../../../core/fields.ts";
import { nearestName } from "../../../core/nearest-name.ts";
import type { CliContext } from "../cli-context.ts";
import { readPrompt } from "../terminal/read-prompt.ts";
import { findSession, hasWaitingCall } from "./find-session.ts";
import { SESSION_ARGUMENT } from "./flags.ts";
import { askingOf, promptSource } from "./on-approval.ts";
import {
  addSessionFlags,
  addTurnFlags,
  budgetOf,
  compactionOf,
  type SessionFlags,
  sessionOf,
  type TurnFlags,
} from "./run-flags.ts";
import { showTurn } from "./show-turn.ts";
import { sayTools, useOpened, withService, workspaceOf } from "./with-service.ts";

/** `rkat run`, and `rkat "prompt"`. */
export function runCommand(program: Command, context: CliContext): void {
  const { terminal, engine } = context;
  const command = program
    .command("run", { isDefault: true })
    .description('run a turn in a new session; also `rkat "prompt"`')
    .argument("[prompt...]", "the prompt; piped input comes before it");
  addSessionFlags(addTurnFlags(command)).action(
    async (words: string[], flags: TurnFlags & SessionFlags) => {
      refuseTypo(program, words);
      const workspace = await workspaceOf(context, command);
      const { config } = workspace;
      const session = sessionOf(flags, workspace);
      const prompt = await readPrompt(words, promptSource(terminal, flags.onApproval));
      const asking = askingOf(terminal, flags, config);
      const opened = await engine.openService(workspace, "create", asking);
      await sayTools(terminal, opened);
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
    .description("run a turn in an earlier session")
    .argument("<session>", SESSION_ARGUMENT)
    .argument("[prompt...]", "the prompt; optional when a tool call waited for approval");
  addTurnFlags(resume).action((session: string, words: string[], flags: TurnFlags) =>
    resumeSession(context, resume, session, words, flags),
  );

  const next = program
    .command("continue")
    .alias("c")
    .description("run a turn in the last session")
    .argument("[prompt...]", "the prompt (default: Continue.)");
  addTurnFlags(next).action((words: string[], flags: TurnFlags) =>
    resumeSession(context, next, "last", words, flags, "Continue."),
  );
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
    async (service, { config }) => {
      const sessionId = await findSession(service, session);
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
    { asking: ({ config }) => askingOf(terminal, flags, config) },
  );
}

/**
 * `rkat sesions list` is a typo, which must not be sent to a model as a prompt. A text with spaces,
 * capitals or punctuation is a prompt.
 */
function refuseTypo(program: Command, words: readonly string[]): void {
  const [first = ""] = words;
  const names = program.commands.map((command) => command.name());
  const asked = program.args[0] === "run";
  const near = nearestName(first, names);
  const isName = /^[a-z-]+$/.test(first);
  if (asked || !isName || words.length > 3 || near === undefined || near === first) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `"${first}" is not a command.`,
    hint: `Did you mean \`rkat ${near}\`? To send it as a prompt: rkat run "${words.join(" ")}".`,
  });
}
