import type { Command } from "commander";
import { given } from "../../../core/fields.ts";
import { forkedSession } from "../../../core/operations/forks.ts";
import { toWire } from "../../../core/wire.ts";
import type { CliContext } from "../../cli-context.ts";
import { renderFork } from "../../render/render-history.ts";
import { printJson } from "../../terminal/print.ts";
import { changingCommand, withSession } from "../find-session.ts";
import { messageId } from "./history-commands.ts";

interface ForkFlags {
  readonly at?: number;
  readonly json?: true;
}

/** `rkat sessions fork`. */
export function forkCommand(sessions: Command, context: CliContext): void {
  const { stdout, stderr } = context.terminal;
  const fork = changingCommand(
    sessions,
    "fork",
    "create a session that goes on from a message of this one; prints its id",
  )
    .option(
      "--at <id>",
      "the last message that it knows of, or any event (default: the last)",
      messageId,
    )
    .option("--json", "for scripts")
    .action((name: string, { at, json }: ForkFlags) =>
      withSession(context, fork, name, async (service, sessionId) => {
        const forked = await service.forkSession({ sessionId, ...given({ event: at }) });
        if (json) return await printJson(stdout, toWire(forkedSession, forked));
        await stdout.write(`${forked.sessionId}\n`);
        await stderr.write(`${renderFork(forked)}\n`);
      }),
    );
}
