import { SessionError } from "../core/errors.ts";
import { given } from "../core/fields.ts";

const DIR_FLAG = / --dir (?:'[^']*'|\\'|[^\s'])+/;

/**
 * A text whose commands in backticks have the flags of `rkat`, the command line that calls rkat again. A command that names
 * a folder itself keeps it.
 */
export function calledIn(text: string, rkat: string): string {
  return text.replaceAll(/`rkat (?=[^`]*`)[^`]*/g, (command) => {
    const flags = DIR_FLAG.test(command) ? rkat.replace(DIR_FLAG, "") : rkat;
    return command.replace("rkat", () => flags);
  });
}

/** The same failure, whose hint has the flags of `rkat` in its commands. */
export function withCalls(error: SessionError, rkat: string): SessionError {
  const { code, message, hint, retry, archived } = error;
  if (rkat === "rkat" || hint === undefined) return error;
  const called = calledIn(hint, rkat);
  return new SessionError(code, {
    message,
    hint: called,
    cause: error,
    archived,
    ...given({ retry }),
  });
}
