import type { Command } from "commander";
import type { CliContext } from "../../cli-context.ts";
import { memorySearchCommand } from "./search-command.ts";

type Register = (memory: Command, context: CliContext) => void;

/** The subcommands in the order of the help; like commands, each but the one that people wait for is loaded when it is named. */
const SUBCOMMANDS: Readonly<Record<string, () => Promise<Register>>> = {
  search: async () => memorySearchCommand,
  list: async () => (await import("./list-command.ts")).memoryListCommand,
  stats: async () => (await import("./stats-command.ts")).memoryStatsCommand,
  add: async () => (await import("./add-command.ts")).memoryAddCommand,
  export: async () => (await import("./export-command.ts")).memoryExportCommand,
  forget: async () => (await import("./forget-command.ts")).memoryForgetCommand,
  verify: async () => (await import("./verify-command.ts")).memoryVerifyCommand,
  reindex: async () => (await import("./reindex-command.ts")).memoryReindexCommand,
};

/** `rkat memory …`: the subcommand that is named, or all. None of it needs a model. */
export async function loadMemoryCommand(
  named: string | undefined,
): Promise<(program: Command, context: CliContext) => void> {
  const one = named === undefined ? undefined : SUBCOMMANDS[named];
  const all = one ? [one] : Object.values(SUBCOMMANDS);
  const registers = await Promise.all(all.map((load) => load()));
  return (program, context) => {
    const memory = program
      .command("memory")
      .description("search, fill, show and clear the project's memory")
      .helpCommand(false);
    for (const register of registers) register(memory, context);
  };
}
