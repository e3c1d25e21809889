import type { Output } from "./terminal.ts";

/** Prints one value: on one line for a script, laid out for a person. */
export function printJson(output: Output, value: unknown): Promise<void> {
  return output.write(`${JSON.stringify(value, null, output.isTerminal ? 2 : undefined)}\n`);
}
