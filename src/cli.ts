import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openProject } from "./open-project.ts";
import type { CliContext } from "./surfaces/cli/cli-context.ts";
import { main } from "./surfaces/cli/main.ts";
import { printWarnings, processTerminal } from "./surfaces/cli/terminal/process-terminal.ts";

/** Runs the command line of this process. */
export async function runCli(): Promise<void> {
  const context: CliContext = {
    terminal: processTerminal(),
    version: version(),
    engine: openProject,
    exitCode: 0,
    rkat: "rkat",
    program: fileURLToPath(new URL("../bin/rkat.js", import.meta.url)),
  };
  printWarnings(() => context.failure);
  process.exitCode = await main(process.argv.slice(2), context);
}

function version(): string {
  const about = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(about) as { version: string }).version;
}
