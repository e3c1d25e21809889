import type { Command } from "commander";
import type { CliContext } from "../../src/cli/cli-context.ts";
import { createProgram } from "../../src/cli/main.ts";
import { HeldWarnings } from "../../src/cli/terminal/process-terminal.ts";

const output = { columns: 80, isTerminal: false, write: async () => {} };

/** What the commands read of their surroundings before one of them runs. */
const context = {
  terminal: { stdin: {}, stdout: output, stderr: output, env: {}, cwd: "/" },
  version: "0",
  exitCode: 0,
  warnings: new HeldWarnings(() => {}),
  program: "rkat",
  rkat: "rkat",
} as unknown as CliContext;

/** The whole command line, as completions need it. Reading arguments changes it. */
export function newProgram(args: readonly string[] = ["complete", "--"]): Promise<Command> {
  return createProgram(args, context);
}

/** Every command that the help shows, with its path. The library of completions has one of its own that it hides. */
export function commandsIn(command: Command, path: readonly string[] = []): [string, Command][] {
  return command
    .createHelp()
    .visibleCommands(command)
    .flatMap((each) => {
      const names = [...path, each.name()];
      return [[names.join(" "), each] as [string, Command], ...commandsIn(each, names)];
    });
}
