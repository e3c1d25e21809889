import type { Command } from "commander";
import type { CliContext } from "../../cli-context.ts";
import { changeCommands, distillCommand, forgetCommand } from "./change-commands.ts";
import { listCommand, showCommand } from "./read-commands.ts";

/** `rkat knowledge …`: what the project has learned. Only `distill` may need a model. */
export function knowledgeCommand(program: Command, context: CliContext): void {
  const knowledge = program
    .command("knowledge")
    .description("see and change what the project has learned")
    .helpCommand(false);
  listCommand(knowledge, context);
  showCommand(knowledge, context);
  changeCommands(knowledge, context);
  forgetCommand(knowledge, context);
  distillCommand(knowledge, context);
}
