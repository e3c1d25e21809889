import type { Command } from "commander";
import type { SearchScope } from "../../../config/settings.ts";
import { SessionError } from "../../../core/errors.ts";
import { given } from "../../../core/fields.ts";
import { sourcesView } from "../../../core/operations/sources.ts";
import type { SessionService } from "../../../core/session-service.ts";
import { toWire } from "../../../core/wire.ts";
import type { CliContext } from "../../cli-context.ts";
import { renderSources } from "../../render/render-history.ts";
import { styleFor } from "../../render/style.ts";
import { printJson } from "../../terminal/print.ts";
import { findExisting } from "../find-session.ts";
import { countFlag, SESSION_ARGUMENT, scopeFlag } from "../flags.ts";
import { withService } from "../with-service.ts";

interface SourcesFlags {
  readonly session?: string;
  readonly event?: number;
  readonly limit?: number;
  readonly offset?: number;
  readonly scope: SearchScope;
  readonly json?: true;
}

const number = countFlag(Number.MAX_SAFE_INTEGER);

/** `rkat memory sources`. */
export function sourcesCommand(memory: Command, context: CliContext): void {
  const { terminal } = context;
  const command = memory
    .command("sources")
    .description("the messages that an entry, a rule, or the summary of a compaction rests on")
    .argument("[id]", "of an entry of memory, a fact, a correction, a preference or a rule")
    .option("--session <session>", `of the last summary of a session: ${SESSION_ARGUMENT}`)
    .option("--event <seq>", "of the summary of this compaction", number)
    .option("-n, --limit <n>", "limit of messages", countFlag(1000))
    .option("--offset <n>", "without the first ones", number)
    .addOption(
      scopeFlag("look in this project, the user-wide store ~/.rkat, or both").default("all"),
    )
    .option("--json", "for scripts")
    .action((id: string | undefined, { session, scope, json, ...flags }: SourcesFlags) => {
      const print = async (service: SessionService) => {
        if ((id === undefined) === (session === undefined)) throw eitherOne();
        const found = session === undefined ? session : await findExisting(service, session);
        const { event, limit, offset } = flags;
        const which = given({ id, sessionId: found, event, limit, offset });
        const view = await service.readSources(which);
        if (json) return await printJson(terminal.stdout, toWire(sourcesView, view));
        const style = styleFor(terminal.stdout, terminal.env);
        await terminal.stdout.write(renderSources(view, style, terminal.stdout.columns));
      };
      return withService(context, command, print, { scope });
    });
}

function eitherOne(): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: "Give an id, or --session, and not both.",
  });
}
