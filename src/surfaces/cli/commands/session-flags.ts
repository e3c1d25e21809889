import { type Command, Option } from "commander";
import type { Config } from "../../../config/config.ts";
import type { CreateSession } from "../../../core/requests.ts";
import { given, labelFlag } from "./flags.ts";
import { type CompactionFlags, compactionOf } from "./turn-flags.ts";

/** What every command that makes a session can be told of it. */
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
    .option("--memory", "let the session search memory (the default)")
    .option("--no-memory", "do not")
    .addOption(new Option("--enable-memory", "same as --memory").hideHelp())
    .option("--knowledge", "learn from the project, and the project from the session (the default)")
    .option("--no-knowledge", "do not")
    .option(
      "--approval <tool=policy>",
      "ask before calls of a tool, or deny them: shell=ask, 'fs_*=deny' (repeatable)",
      labelFlag,
    )
    .option("-l, --label <name=value>", "label the session (repeatable)", labelFlag);
}

/** The session that the flags ask for. */
export function sessionOf(flags: SessionFlags, config: Config): CreateSession {
  return given({
    model: flags.model,
    systemPrompt: flags.systemPrompt,
    maxTokens: flags.maxTokens,
    memory: flags.enableMemory ?? flags.memory ?? memoryByDefault(config),
    compaction: compactionOf(flags),
    knowledge: flags.knowledge,
    approvals: flags.approval as CreateSession["approvals"],
    labels: flags.label,
  });
}

/** Only what somebody asks for may fail where memory is switched off. */
function memoryByDefault(config: Config): boolean | undefined {
  return config.get("memory.enabled") ? undefined : false;
}
