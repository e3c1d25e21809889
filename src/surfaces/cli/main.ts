import { parseArgs } from "node:util";
import { CommanderError } from "commander";
import { ERRORS, SessionError } from "../../core/errors.ts";
import type { CliContext } from "./cli-context.ts";
import { createProgram } from "./program.ts";
import { exitCodeOf, failureJson, printEnd, printFailure } from "./terminal/print.ts";

/** Runs one command line and returns the exit code of the process. */
export async function main(args: readonly string[], context: CliContext): Promise<number> {
  const { stdout, stderr } = context.terminal;
  const form = scriptForm(args);
  const program = await createProgram(args, context, { onBadUsage: form ? "throw" : "say" });
  try {
    await program.parseAsync(args, { from: "user" });
    return context.exitCode;
  } catch (thrown) {
    const isUsage = thrown instanceof CommanderError;
    if (isUsage && thrown.exitCode === 0) return 0;
    // commander has already told a person what was wrong.
    if (isUsage && !form) return ERRORS.INVALID_PARAMS.exitCode;
    const error = isUsage ? usageError(thrown) : SessionError.from(thrown);
    if (form === "jsonl") await printEnd(stdout, "error", failureJson(error));
    if (form) await stderr.write(`${JSON.stringify(failureJson(error))}\n`);
    else await printFailure(context.terminal, error);
    return exitCodeOf(error);
  }
}

/**
 * The form in which a script wants its answer; undefined for people. Read from
 * the bare arguments, because wrong arguments are answered in this form too.
 */
function scriptForm(args: readonly string[]): "json" | "jsonl" | undefined {
  const { values } = parseArgs({
    args: [...args],
    strict: false,
    options: { json: { type: "boolean" }, output: { type: "string" } },
  });
  if (values.output === "json" || values.output === "jsonl") return values.output;
  return values.json === true ? "json" : undefined;
}

function usageError({ message }: CommanderError): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: message.replace(/^error: /, ""),
    hint: "`--help` lists what the command takes.",
  });
}
