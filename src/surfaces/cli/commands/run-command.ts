import type { Command } from "commander";
import { nearestName } from "../../../config/nearest-name.ts";
import { SessionError } from "../../../core/errors.ts";
import type { CliContext } from "../cli-context.ts";
import { readPrompt } from "../terminal/read-prompt.ts";
import { askingOf, promptSource } from "./on-approval.ts";
import { requireModel } from "./require-model.ts";
import { addSessionFlags, type SessionFlags, sessionOf } from "./session-flags.ts";
import { runTurn } from "./show-turn.ts";
import { addTurnFlags, budgetOf, type TurnFlags } from "./turn-flags.ts";
import { withServiceOf, workspaceOf } from "./with-service.ts";

type RunFlags = TurnFlags & SessionFlags;

/** `rkat run`, and `rkat "prompt"`. */
export function runCommand(program: Command, context: CliContext): void {
  const command = program
    .command("run", { isDefault: true })
    .description('run a turn in a new session; also `rkat "prompt"`')
    .argument("[prompt...]", "what you want; what is piped in comes before it");
  addSessionFlags(addTurnFlags(command)).action(async (words: string[], flags: RunFlags) => {
    refuseTypo(program, words);
    const workspace = await workspaceOf(context, command);
    requireModel(flags.model, workspace);
    const prompt = await readPrompt(words, promptSource(context.terminal, flags.onApproval));
    const { config } = workspace;
    const asking = askingOf(context.terminal, flags.onApproval, config);
    await withServiceOf(
      workspace,
      context,
      "create",
      async (service) => {
        const { sessionId } = await service.createSession(sessionOf(flags, config));
        const request = { sessionId, prompt, budget: budgetOf(flags, config) };
        await runTurn(context, workspace, flags, request, (...turn) => service.startTurn(...turn));
      },
      asking,
    );
  });
}

/** `rkat sesions list` is a typo, not a prompt that is worth a model's time. */
function refuseTypo(program: Command, words: readonly string[]): void {
  const [first = ""] = words;
  const names = program.commands.map((command) => command.name());
  const asked = program.args[0] === "run";
  const near = nearestName(first, names);
  if (asked || words.length > 3 || near === undefined || near === first) return;
  throw new SessionError("INVALID_PARAMS", {
    detail: `"${first}" is not a command.`,
    hint: `Did you mean \`rkat ${near}\`? To send it as a prompt: rkat run "${words.join(" ")}".`,
  });
}
