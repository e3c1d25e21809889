import { CommanderError } from "commander";
import { ERRORS, SessionError } from "../../core/errors.ts";
import type { CliContext } from "./cli-context.ts";
import { createProgram } from "./program.ts";
import { exitCodeOf, failureJson, renderFailure } from "./render/render-failure.ts";
import { styleFor } from "./render/style.ts";
import { scriptForm } from "./script-form.ts";
import { printEnd } from "./terminal/event-lines.ts";

/** Runs one command line and returns what the process should exit with. */
export async function main(args: readonly string[], context: CliContext): Promise<number> {
  const { stdout, stderr, env } = context.terminal;
  const form = scriptForm(args);
  const program = await createProgram(args, context, { onBadUsage: form ? "throw" : "say" });
  try {
    await program.parseAsync(args, { from: "user" });
    return context.exitCode;
  } catch (thrown) {
    const isUsage = thrown instanceof CommanderError;
    if (isUsage && thrown.exitCode === 0) return 0;
    // To people, the help and what was not understood have been said.
    if (isUsage && !form) return ERRORS.INVALID_PARAMS.exitCode;
    const error = isUsage ? usageError(thrown) : SessionError.from(thrown);
    if (form === "jsonl") await printEnd(stdout, "error", failureJson(error));
    await stderr.write(
      form
        ? `${JSON.stringify(failureJson(error))}\n`
        : renderFailure(error, styleFor(stderr, env)),
    );
    return exitCodeOf(error);
  }
}

/** What commander did not understand, as the failure that it is. */
function usageError({ message }: CommanderError): SessionError {
  return new SessionError("INVALID_PARAMS", {
    detail: message.replace(/^error: /, ""),
    hint: "`--help` says what the command takes.",
  });
}
