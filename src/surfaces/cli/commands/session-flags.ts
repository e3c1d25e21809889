import { type Command, Option } from "commander";
import type { Workspace } from "../../../config/workspace.ts";
import { SessionError } from "../../../core/errors.ts";
import { given } from "../../../core/given.ts";
import type { CreateSession } from "../../../core/requests.ts";
import { labelFlag } from "./flags.ts";
import { type CompactionFlags, compactionOf } from "./turn-flags.ts";

/** The flags of every command that creates a session. */
export interface SessionFlags extends CompactionFlags {
  readonly model?: string;
  readonly maxTokens?: number;
  readonly systemPrompt?: string;
  readonly memory?: boolean;
  readonly enableMemory?: true;
  readonly knowledge?: boolean;
  readonly approval?: Readonly<Record<string, string>>;
  readonly label?: Readonly<Record<string, string>>;
}

export function addSessionFlags(command: Command): Command {
  return command
    .option("--system-prompt <text>", "the system prompt of the session")
    .option("--memory", "let the session search memory (default)")
    .option("--no-memory", "do not let the session search memory")
    .addOption(new Option("--enable-memory", "same as --memory").hideHelp())
    .option("--knowledge", "follow the project's rules, and learn from the session (default)")
    .option("--no-knowledge", "neither follow rules nor learn")
    .option(
      "--approval <tool=policy>",
      "ask before calls of a tool, or deny them: shell=ask, 'fs_*=deny' (repeatable)",
      labelFlag,
    )
    .option("-l, --label <name=value>", "label the session (repeatable)", labelFlag);
}

/**
 * The session that the flags ask for.
 *
 * @throws SessionError `MODEL_UNAVAILABLE` when neither the flags nor the settings name a model.
 */
export function sessionOf(flags: SessionFlags, { config, files }: Workspace): CreateSession {
  if (!(flags.model ?? config.get("model"))) {
    throw new SessionError("MODEL_UNAVAILABLE", {
      message: "No model is configured.",
      hint: `Name one: -m anthropic/claude-sonnet-4-5 (needs ANTHROPIC_API_KEY), or -m ollama/llama3.2 (needs no key). To keep it, set RKAT_MODEL, or model = "…" in ${files.user}. \`rkat config\` shows what is set.`,
    });
  }
  return given({
    model: flags.model,
    systemPrompt: flags.systemPrompt,
    maxTokens: flags.maxTokens,
    // `--memory` fails where memory is off; the default of the settings does not.
    memory:
      flags.enableMemory ?? flags.memory ?? (config.get("memory.enabled") ? undefined : false),
    compaction: compactionOf(flags),
    knowledge: flags.knowledge,
    approvals: flags.approval as CreateSession["approvals"],
    labels: flags.label,
  });
}
