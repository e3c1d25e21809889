import { type Command, InvalidArgumentError, Option } from "commander";
import { openProjectService } from "../../../app/open-project-service.ts";
import { useOpened } from "../../../app/opened.ts";
import { hasCapability } from "../../../config/workspace.ts";
import { SessionError } from "../../../core/errors.ts";
import { AUTHORS, type Author } from "../../../core/event.ts";
import { given } from "../../../core/fields.ts";
import type { Message } from "../../../core/message.ts";
import {
  type CreateSession,
  createSession,
  sessionCreated,
} from "../../../core/operations/sessions.ts";
import { messagesAppended } from "../../../core/operations/turns.ts";
import { errorToWire, fromWire, toWire } from "../../../core/wire.ts";
import type { CliContext } from "../../cli-context.ts";
import { plural } from "../../render/amounts.ts";
import { readJsonLines } from "../../terminal/input-file.ts";
import { printJson } from "../../terminal/print.ts";
import { changingCommand, withSession } from "../find-session.ts";
import {
  addCompactionFlags,
  addModelFlags,
  addSessionFlags,
  type SessionFlags,
  sessionOf,
} from "../run-flags.ts";
import { workspaceOf } from "../with-service.ts";
import { bringBackCommands } from "./bring-back-commands.ts";
import { changeCommands } from "./change-commands.ts";
import { historyCommands } from "./history-commands.ts";
import { readCommands } from "./read-commands.ts";
import { workingMemoryCommands } from "./working-memory-commands.ts";

/** `rkat sessions …`. The subcommands come in the order of the help. */
export function sessionsCommand(program: Command, context: CliContext): void {
  const sessions = program.command("sessions").helpCommand(false);
  for (const register of [
    createCommand,
    appendCommand,
    readCommands,
    workingMemoryCommands,
    changeCommands,
    historyCommands,
    bringBackCommands,
  ]) {
    register(sessions, context);
  }
}

interface CreateFlags extends SessionFlags {
  readonly messages?: string;
  readonly source?: CreateSession["source"];
  readonly json?: true;
}

/** `rkat sessions create`. */
function createCommand(sessions: Command, context: CliContext): void {
  const { terminal } = context;
  const command = sessions
    .command("create")
    .description("create a session without a turn; prints its id");
  addSessionFlags(addCompactionFlags(addModelFlags(command)))
    .option("--messages <file>", "start with this history: one message per line, - for stdin")
    .option("--source <json>", 'where it came from, such as {"agent": "codex", …}', sourceFlag)
    .option("--json", "for scripts")
    .action(async (flags: CreateFlags) => {
      const workspace = await workspaceOf(context, command);
      // Without a store, the session would end with this process.
      if (!hasCapability(workspace.config, "session-store")) {
        throw new SessionError("SESSION_PERSISTENCE_DISABLED");
      }
      const { source } = flags;
      const session = sessionOf(flags, workspace);
      const messages =
        flags.messages === undefined ? undefined : await readMessages(flags.messages, context);
      const opened = await openProjectService(workspace, "create");
      await useOpened(opened, async (service) => {
        const created = await service
          .createSession({ ...session, ...given({ messages, source }) })
          .catch((error: unknown) => {
            // --source is JSON, so an error names its fields as JSON has them.
            throw SessionError.is(error) ? errorToWire(createSession, error) : error;
          });
        if (flags.json) await printJson(terminal.stdout, toWire(sessionCreated, created));
        else await terminal.stdout.write(`${created.sessionId}\n`);
      });
    });
}

/** Reads the source as the wire has it. The service checks its fields. */
function sourceFlag(text: string): CreateSession["source"] {
  try {
    return fromWire(createSession.shape.source, JSON.parse(text)) as CreateSession["source"];
  } catch (cause) {
    if (cause instanceof SyntaxError) throw new InvalidArgumentError("It must be JSON.");
    throw cause;
  }
}

interface AppendFlags {
  readonly messages: string;
  readonly author?: Author;
  readonly speaker?: string;
  readonly time?: string;
  readonly key?: string;
  readonly json?: true;
}

/** `rkat sessions append`. */
function appendCommand(sessions: Command, context: CliContext): void {
  const { terminal } = context;
  const append = changingCommand(sessions, "append", "add messages without running a turn")
    .requiredOption("--messages <file>", "one message per line (JSON), - for stdin")
    .option("--key <text>", "a name for this batch; a retry with the same key adds nothing")
    .addOption(
      new Option(
        "--author <who>",
        "who wrote the user messages; only a user's teach the project (default: file)",
      ).choices(AUTHORS),
    )
    .option("--speaker <name>", "the name of the person who wrote them")
    .option("--time <time>", "when they were written (ISO 8601)")
    .option("--json", "for scripts")
    .action(async (name: string, flags: AppendFlags) => {
      const messages = await readMessages(flags.messages, context);
      const { key, speaker, time, author = speaker === undefined ? "file" : undefined } = flags;
      const origin = given({ author, speaker, time });
      await withSession(context, append, name, async (service, sessionId) => {
        const done = await service.appendMessages({
          sessionId,
          messages,
          origin,
          ...given({ key }),
        });
        if (flags.json) return await printJson(terminal.stdout, toWire(messagesAppended, done));
        const added = plural(done.added, "message");
        const text =
          done.added > 0 ? `Added ${added} to ${sessionId}.` : "These messages were added before.";
        await terminal.stderr.write(`${text}\n`);
      });
    });
}

/** The service checks the messages. */
function readMessages(file: string, { terminal }: CliContext): Promise<Message[]> {
  return Array.fromAsync(readJsonLines(file, terminal, (json) => ({ value: json as Message })));
}
