import type { Command } from "commander";
import type { SessionService } from "../../../../core/session-service.ts";
import type { CliContext } from "../../cli-context.ts";
import { findSession } from "../find-session.ts";
import { withService } from "../with-service.ts";

const SESSION = "its id, the beginning of it, `last`, or ~N for the Nth before the last";

/** A command of `rkat sessions` that is about one session. */
export function sessionCommand(sessions: Command, name: string, description: string): Command {
  return sessions.command(name).description(description).argument("<session>", SESSION);
}

/** Opens the project's service and finds the session that was named. An archived one can be read, and no more. */
export function withSession(
  context: CliContext,
  command: Command,
  name: string,
  work: (service: SessionService, sessionId: string) => Promise<void>,
  { includeArchived = true } = {},
): Promise<void> {
  return withService(context, command, async (service) => {
    await work(service, await findSession(service, name, { includeArchived }));
  });
}
