import type { HeldWarnings } from "./terminal/process-terminal.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** The context that every command gets. */
export interface CliContext {
  readonly terminal: Terminal;
  readonly version: string;
  /** The exit code of the process. A command that did its work but found a problem sets it. */
  exitCode: number;
  /** Failures that have not ended the command. */
  readonly warnings: HeldWarnings;
  /** The path of the program's own file, for a command line that has to work everywhere. */
  readonly program: string;
  /** The command line that calls rkat again: `rkat`, with the flags of this command line that stand before the command. */
  rkat: string;
  /** Whether a script reads the answer, and a failure, as JSON. */
  isScript?: boolean;
}
