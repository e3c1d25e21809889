import type { Command } from "commander";
import { hasCapability } from "../../../../config/workspace.ts";
import { SessionError } from "../../../../core/errors.ts";
import type { Message } from "../../../../core/message.ts";
import { sessionCreated } from "../../../../core/results.ts";
import { toWire } from "../../../../core/wire.ts";
import type { CliContext } from "../../cli-context.ts";
import { printJson } from "../../terminal/print-json.ts";
import { readJsonLines } from "../../terminal/read-json-lines.ts";
import { given } from "../flags.ts";
import { requireModel } from "../require-model.ts";
import { addSessionFlags, type SessionFlags, sessionOf } from "../session-flags.ts";
import { addCompactionFlags, addModelFlags } from "../turn-flags.ts";
import { withServiceOf, workspaceOf } from "../with-service.ts";

interface CreateFlags extends SessionFlags {
  readonly messages?: string;
  readonly json?: true;
}

/** `rkat sessions create`: a session before its first turn. */
export function sessionsCreateCommand(sessions: Command, context: CliContext): void {
  const { terminal } = context;
  const command = sessions
    .command("create")
    .description("make a session without running a turn; prints its id");
  addSessionFlags(addCompactionFlags(addModelFlags(command)))
    .option("--messages <file>", "a history to begin with: one message a line, - for stdin")
    .option("--json", "for scripts")
    .action(async (flags: CreateFlags) => {
      const workspace = await workspaceOf(context, command);
      const { config } = workspace;
      // Without a store it would be gone with this process, before anybody could use it.
      if (!hasCapability(config, "session-store")) {
        throw new SessionError("SESSION_PERSISTENCE_DISABLED");
      }
      requireModel(flags.model, workspace);
      const messages = flags.messages === undefined ? undefined : await read(flags.messages);
      const request = { ...sessionOf(flags, config), ...given({ messages }) };
      await withServiceOf(workspace, context, "create", async (service) => {
        const created = await service.createSession(request);
        if (flags.json) await printJson(terminal.stdout, toWire(sessionCreated, created));
        else await terminal.stdout.write(`${created.sessionId}\n`);
      });
    });

  /** What a message may be, the service knows. */
  function read(file: string): Promise<Message[]> {
    return Array.fromAsync(readJsonLines(file, terminal, (json) => ({ value: json as Message })));
  }
}
