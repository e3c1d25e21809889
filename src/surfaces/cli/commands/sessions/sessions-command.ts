import type { Command } from "commander";
import type { CliContext } from "../../cli-context.ts";
import { appendCommand } from "./append-command.ts";
import {
  archiveCommand,
  compactCommand,
  deleteCommand,
  projectCommand,
  restoreCommand,
  unarchiveCommand,
} from "./change-commands.ts";
import { createCommand } from "./create-command.ts";
import { contextCommand, eventsCommand, listCommand, showCommand } from "./read-commands.ts";
import { pinsCommands, taskCommand } from "./working-memory-commands.ts";

/** `rkat sessions …`. The subcommands come in the order of the help. */
export function sessionsCommand(program: Command, context: CliContext): void {
  const sessions = program
    .command("sessions")
    .description("list, read, change and delete sessions")
    .helpCommand(false);
  for (const register of [
    createCommand,
    appendCommand,
    listCommand,
    showCommand,
    contextCommand,
    taskCommand,
    pinsCommands,
    archiveCommand,
    unarchiveCommand,
    deleteCommand,
    restoreCommand,
    compactCommand,
    eventsCommand,
    projectCommand,
  ]) {
    register(sessions, context);
  }
}
