import { WARNING_NAME } from "../../../core/warn.ts";

/** Prints what rkat warns of in a line for people; Node's own form of a warning is for developers. */
export function printWarnings(): void {
  const ofNode = process.listeners("warning");
  process.removeAllListeners("warning");
  process.on("warning", (warning) => {
    if (warning.name === WARNING_NAME) process.stderr.write(`warning: ${warning.message}\n`);
    else for (const listener of ofNode) listener.call(process, warning);
  });
}
