import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { CliContext } from "./cli/cli-context.ts";
import { main } from "./cli/main.ts";
import { printWarnings, processTerminal } from "./cli/terminal/process-terminal.ts";

/** Runs the command line of this process. */
export async function runCli(): Promise<void> {
  const context: CliContext = {
    terminal: processTerminal(),
    version: version(),
    exitCode: 0,
    rkat: "rkat",
    warnings: printWarnings(),
    program: fileURLToPath(new URL("../bin/rkat.js", import.meta.url)),
  };
  process.exitCode = await main(process.argv.slice(2), context);
}

function version(): string {
  const about = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(about) as { version: string }).version;
}
