import { approvalCommands } from "./approval-commands.ts";
import type { Connection } from "./connection.ts";
import { deletionCommands } from "./deletion-commands.ts";
import { eventCommands } from "./event-commands.ts";
import { forgottenCommands } from "./forgotten-commands.ts";
import { historyCommands } from "./history-commands.ts";
import { importCommands } from "./import-commands.ts";
import { indexCommands } from "./index-commands.ts";
import { knowledgeCommands } from "./knowledge-commands.ts";
import { sessionCommands } from "./session-commands.ts";

/**
 * Every command that the database runs, by name.
 *
 * A command is a synchronous function of a connection. Its arguments and its
 * result can be cloned, so that it runs here or in another thread. It writes in
 * one transaction (`db.write`), so that it can be run again when another
 * connection held the lock.
 */
export const commands = {
  ...eventCommands,
  ...historyCommands,
  ...deletionCommands,
  ...sessionCommands,
  ...forgottenCommands,
  ...importCommands,
  ...indexCommands,
  ...approvalCommands,
  ...knowledgeCommands,

  /** @throws SessionError `SESSION_STORE_ERROR` when the store's files were removed or replaced */
  requireInPlace(db: Connection): void {
    db.files?.requireInPlace();
  },
};

type Commands = typeof commands;
export type CommandName = keyof Commands & string;

export type CommandArguments<Name extends CommandName> = Commands[Name] extends (
  db: Connection,
  ...values: infer Values
) => unknown
  ? Values
  : never;

export type CommandResult<Name extends CommandName> = Commands[Name] extends (
  db: Connection,
  ...values: never[]
) => infer Result
  ? Result
  : never;
