import type { Command } from "commander";
import type { CliContext } from "./cli-context.ts";
import { findSession } from "./find-session.ts";
import { given } from "./flags.ts";
import { readPrompt } from "./read-prompt.ts";
import { runTurn } from "./run-turn.ts";
import { addTurnFlags, budgetOf, compactionOf, type TurnFlags } from "./turn-flags.ts";
import { withService } from "./with-service.ts";

/** `rkat resume` and `rkat continue`. */
export function resumeCommand(program: Command, context: CliContext): void {
  const resume = program
    .command("resume")
    .description("run a turn in an earlier session")
    .argument("<session>", "its id, the beginning of it, `last`, or ~N for the Nth before the last")
    .argument("[prompt...]", "what you want");
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
  return withService(context, command, async (service, workspace) => {
    const sessionId = await findSession(service, session);
    const prompt = await readPrompt(words, context.terminal, unsaid);
    const { model, maxTokens } = flags;
    const request = {
      sessionId,
      prompt,
      budget: budgetOf(flags, workspace.config),
      ...given({ model, maxTokens, compaction: compactionOf(flags) }),
    };
    await runTurn(context, workspace, flags, request, (...turn) => service.resume(...turn));
  });
}
