import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { CliContext } from "./cli/cli-context.ts";

/** Scripts ask for the version to see whether rkat is there, so nothing else is loaded for it. */
const VERSION: readonly string[] = ["--version", "-V"];

/** Runs the command line of this process. */
export async function runCli(): Promise<void> {
  // Windows looks for a program in the folder where one works first, and a stranger may have put one there.
  process.env.NoDefaultCurrentDirectoryInExePath = "1";
  const args = process.argv.slice(2);
  const [command = "", event = ""] = args;
  if (args.length === 1 && VERSION.includes(command)) {
    process.stdout.on("error", (error) => void terminal().then((own) => own.exitOnError(error)));
    process.stdout.write(`${version()}\n`);
    return;
  }
  const { printWarnings, processTerminal } = await terminal();
  const context: CliContext = {
    terminal: processTerminal(),
    version: version(),
    exitCode: 0,
    rkat: "rkat",
    warnings: printWarnings(),
    program: fileURLToPath(new URL("../bin/rkat.js", import.meta.url)),
  };
  if (command === "hook" && !event.startsWith("-")) {
    // A coding agent waits for it, so the other commands are not loaded.
    const { runHook } = await import("./cli/commands/run-hook.ts");
    await runHook(event, flagIn(args, "--agent"), context);
    context.warnings.end();
    return;
  }
  const { main } = await import("./cli/main.ts");
  process.exitCode = await main(args, context);
}

const terminal = () => import("./cli/terminal/process-terminal.ts");

/** The value behind a flag, or after its `=`. */
function flagIn(args: readonly string[], flag: string): string | undefined {
  const at = args.findIndex((arg) => arg === flag || arg.startsWith(`${flag}=`));
  return at < 0 ? undefined : (args[at]?.split("=")[1] ?? args[at + 1]);
}

function version(): string {
  const about = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(about) as { version: string }).version;
}
