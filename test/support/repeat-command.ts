import { shellWord } from "../../src/text/quoting.ts";

/** A failure, and the run that it was in. */
export interface FailedIn {
  readonly file: string;
  /** Its name with those of the groups around it. Without one, the file failed outside of its tests. */
  readonly test?: string;
  /** What fast-check printed, if a property failed. */
  readonly message?: string;
  /** The seed of the order, when the tests of a file ran in a random order. */
  readonly orderSeed?: number;
  readonly isLong?: boolean;
  /** The settings file, when it is not the usual one. */
  readonly config?: string;
}

/** The one command that runs a failed test again, with the inputs that it failed for. */
export function repeatCommand(failed: FailedIn): string {
  const { file, test, message = "", orderSeed, isLong, config } = failed;
  const seed = /\bseed: (-?\d+)/.exec(message)?.[1];
  const path = /\bpath: "([\d:]+)"/.exec(message)?.[1];
  return [
    ...(seed === undefined ? [] : [`RKAT_SEED=${seed}`]),
    ...(path === undefined ? [] : [`RKAT_PATH=${path}`]),
    ...["npx", "vitest", "run", shellWord(file)],
    ...(config === undefined ? [] : ["--config", shellWord(config)]),
    ...(isLong ? ["--mode", "long"] : []),
    // In a random order the tests before it may be the cause. The path of a property fits no other property.
    ...(orderSeed === undefined || path !== undefined
      ? test === undefined
        ? []
        : ["-t", shellWord(`^${patternOf(test)}$`)]
      : ["--sequence.shuffle.tests", `--sequence.seed=${orderSeed}`]),
  ].join(" ");
}

/** A pattern for exactly this text. A command is one line: in place of a character that breaks it, any matches. */
function patternOf(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&").replace(/\p{Cc}/gu, "[^]");
}
