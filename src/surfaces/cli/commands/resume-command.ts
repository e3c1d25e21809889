import type { Command } from "commander";
import type { Workspace } from "../../../config/workspace.ts";
import type { SessionService } from "../../../core/session-service.ts";
import type { CliContext } from "../cli-context.ts";
import { readPrompt } from "../terminal/read-prompt.ts";
import { callWaits } from "./call-waits.ts";
import { findSession } from "./find-session.ts";
import { given } from "./flags.ts";
import { askingOf, promptSource } from "./on-approval.ts";
import { runTurn } from "./show-turn.ts";
import { addTurnFlags, budgetOf, compactionOf, type TurnFlags } from "./turn-flags.ts";
import { withService } from "./with-service.ts";

/** `rkat resume` and `rkat continue`. */
export function resumeCommand(program: Command, context: CliContext): void {
  const resume = program
    .command("resume")
    .description("run a turn in an earlier session")
    .argument("<session>", "its id, the beginning of it, `last`, or ~N for the Nth before the last")
    .argument(
      "[prompt...]",
      "what you want; not needed to go on with a call that waited for approval",
    );
  addTurnFlags(resume).action((session: string, words: string[], flags: TurnFlags) =>
    resumeSession(context, resume, session, words, flags),
  );

  const next = program
    .command("continue")
    .alias("c")
    .description("run a turn in the last session")
    .argument("[prompt...]", "what you want (default: Continue.)");
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
  unsaid?: string,
): Promise<void> {
  const { terminal } = context;
  const run = async (service: SessionService, workspace: Workspace) => {
    const sessionId = await findSession(service, session);
    const waits = await callWaits(service, sessionId);
    const source = promptSource(terminal, flags.onApproval);
    // A call that waits is gone on with; only words deny it.
    const prompt = await readPrompt(words, source, waits ? null : unsaid);
    const { model, maxTokens } = flags;
    const request = {
      sessionId,
      budget: budgetOf(flags, workspace.config),
      ...given({ prompt, model, maxTokens, compaction: compactionOf(flags) }),
    };
    await runTurn(context, workspace, flags, request, (...turn) => service.resume(...turn));
  };
  return withService(context, command, run, {
    asking: ({ config }) => askingOf(terminal, flags.onApproval, config),
  });
}
