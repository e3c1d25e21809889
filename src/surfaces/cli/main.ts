import { CommanderError } from "commander";
import { SessionError } from "../../core/errors.ts";
import type { CliContext } from "./cli-context.ts";
import { createProgram } from "./program.ts";
import { exitCodeOf, failureJson, renderFailure } from "./render-failure.ts";
import { styleFor } from "./style.ts";

/** The command line was not understood. */
const USAGE = 2;

/** Runs one command line and returns what the process should exit with. */
export async function main(args: readonly string[], context: CliContext): Promise<number> {
  const { stderr, env } = context.terminal;
  const program = await createProgram(args, context);
  let flags: { readonly json?: boolean; readonly output?: string } = {};
  program.hook("preAction", (_, command) => {
    flags = command.opts();
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return context.exitCode;
  } catch (thrown) {
    // It has said what it had to say: the help, the version, or what it did not understand.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : USAGE;
    const error = SessionError.from(thrown);
    const forScript = flags.json === true || flags.output === "json";
    await stderr.write(
      forScript ? failureJson(error) : renderFailure(error, styleFor(stderr, env)),
    );
    return exitCodeOf(error);
  }
}
