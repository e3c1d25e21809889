import type { Command } from "commander";
import type { CliContext } from "../cli-context.ts";
import { runHook } from "./run-hook.ts";

/** `rkat hook`, behind flags such as `--dir`. Without them it runs at once. */
export function hookCommand(program: Command, context: CliContext): void {
  program
    .command("hook", { hidden: true })
    .argument("[event]")
    .option("--now")
    .option("--agent <name>")
    .allowUnknownOption()
    .allowExcessArguments()
    .action((event: string = "", { agent }: { agent?: string }) => runHook(event, agent, context));
}
