import { type Command, InvalidArgumentError } from "commander";
import { hasCapability } from "../../../../config/workspace.ts";
import { SessionError } from "../../../../core/errors.ts";
import { given } from "../../../../core/fields.ts";
import { type CreateSession, createSession } from "../../../../core/requests.ts";
import { sessionCreated } from "../../../../core/results.ts";
import { fromWire, toWire } from "../../../../core/wire.ts";
import type { CliContext } from "../../cli-context.ts";
import { printJson } from "../../terminal/print.ts";
import {
  addCompactionFlags,
  addModelFlags,
  addSessionFlags,
  type SessionFlags,
  sessionOf,
} from "../run-flags.ts";
import { useOpened, workspaceOf } from "../with-service.ts";
import { readMessages } from "./append-command.ts";

interface CreateFlags extends SessionFlags {
  readonly messages?: string;
  readonly source?: CreateSession["source"];
  readonly json?: true;
}

/** `rkat sessions create`. */
export function createCommand(sessions: Command, context: CliContext): void {
  const { terminal, engine } = context;
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
      const opened = await engine.openService(workspace, "create");
      await useOpened(opened, async (service) => {
        const created = await service.createSession({ ...session, ...given({ messages, source }) });
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
