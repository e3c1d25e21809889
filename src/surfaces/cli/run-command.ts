import { type Command, Option } from "commander";
import type { Config } from "../../config/config.ts";
import { nearestName } from "../../config/nearest-name.ts";
import { SessionError } from "../../core/errors.ts";
import type { CliContext } from "./cli-context.ts";
import { given, labelFlag } from "./flags.ts";
import { readPrompt } from "./read-prompt.ts";
import { runTurn } from "./run-turn.ts";
import { addTurnFlags, budgetOf, compactionOf, type TurnFlags } from "./turn-flags.ts";
import { withServiceOf, workspaceOf } from "./with-service.ts";
import type { Workspace } from "./workspace.ts";

interface RunFlags extends TurnFlags {
  readonly systemPrompt?: string;
  readonly memory?: boolean;
  readonly enableMemory?: true;
  readonly label?: Readonly<Record<string, string>>;
}

/** `rkat run`, and `rkat "prompt"`. */
export function runCommand(program: Command, context: CliContext): void {
  const command = program
    .command("run", { isDefault: true })
    .description('run a turn in a new session; also `rkat "prompt"`')
    .argument("[prompt...]", "what you want; what is piped in comes before it");
  addTurnFlags(command)
    .option("--system-prompt <text>", "the system prompt of the session")
    .option("--memory", "let the session search memory (the default)")
    .option("--no-memory", "do not")
    .addOption(new Option("--enable-memory", "same as --memory").hideHelp())
    .option("-l, --label <name=value>", "label the session (repeatable)", labelFlag)
    .action(async (words: string[], flags: RunFlags) => {
      refuseTypo(program, words);
      const workspace = await workspaceOf(context, command);
      requireModel(flags, workspace);
      const prompt = await readPrompt(words, context.terminal);
      const { config } = workspace;
      await withServiceOf(workspace, context, "create", async (service) => {
        const { sessionId } = await service.createSession(
          given({
            model: flags.model,
            systemPrompt: flags.systemPrompt,
            maxTokens: flags.maxTokens,
            memory: flags.enableMemory ?? flags.memory ?? memoryByDefault(config),
            compaction: compactionOf(flags),
            labels: flags.label,
          }),
        );
        const request = { sessionId, prompt, budget: budgetOf(flags, config) };
        await runTurn(context, workspace, flags, request, (...turn) => service.startTurn(...turn));
      });
    });
}

/** Only what somebody asks for may fail where memory is switched off. */
function memoryByDefault(config: Config): boolean | undefined {
  return config.get("memory.enabled") ? undefined : false;
}

/**
 * @throws SessionError `MODEL_UNAVAILABLE` before anything is made that only a model could use.
 */
function requireModel(flags: RunFlags, { config, files }: Workspace): void {
  if (flags.model ?? config.get("model")) return;
  throw new SessionError("MODEL_UNAVAILABLE", {
    detail: "No model is configured.",
    hint: `Name one: -m anthropic/claude-sonnet-4-5 (needs ANTHROPIC_API_KEY; openai and google have theirs), or -m ollama/llama3.2 (needs no key). For good: RKAT_MODEL, or model = "…" in ${files.user}. \`rkat config\` shows what is set.`,
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
