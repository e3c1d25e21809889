import type { Command } from "commander";
import type { CliContext } from "../../cli-context.ts";
import { searchCommand } from "./search-command.ts";

type Register = (memory: Command, context: CliContext) => void;

/** The subcommands in the order of the help. All but `search` are loaded lazily. */
const SUBCOMMANDS: Readonly<Record<string, () => Promise<Register>>> = {
  search: async () => searchCommand,
  list: async () => (await import("./read-commands.ts")).listCommand,
  stats: async () => (await import("./read-commands.ts")).statsCommand,
  add: async () => (await import("./change-commands.ts")).addCommand,
  edit: async () => (await import("./change-commands.ts")).editCommand,
  pin: async () => (await import("./change-commands.ts")).pinCommand,
  unpin: async () => (await import("./change-commands.ts")).unpinCommand,
  "keep-both": async () => (await import("./change-commands.ts")).keepBothCommand,
  sources: async () => (await import("./read-commands.ts")).sourcesCommand,
  export: async () => (await import("./read-commands.ts")).exportCommand,
  forget: async () => (await import("./forget-command.ts")).forgetCommand,
  verify: async () => (await import("./upkeep-commands.ts")).verifyCommand,
  reindex: async () => (await import("./upkeep-commands.ts")).reindexCommand,
};

/** `rkat memory …`: the named subcommand, or all of them. None of it needs a model. */
export async function loadMemoryCommand(
  named: string | undefined,
): Promise<(program: Command, context: CliContext) => void> {
  const one = named === undefined ? undefined : SUBCOMMANDS[named];
  const all = one ? [one] : Object.values(SUBCOMMANDS);
  const registers = await Promise.all(all.map((load) => load()));
  return (program, context) => {
    const memory = program.command("memory").helpCommand(false);
    for (const register of registers) register(memory, context);
  };
}
