import type { Command } from "commander";
import type { SearchScope } from "../../config/settings.ts";
import { SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import { historyHit } from "../../core/operations/memory.ts";
import type { SessionService } from "../../core/session-service.ts";
import type { SourceConditions } from "../../core/session-source.ts";
import { toWire } from "../../core/wire.ts";
import type { CliContext } from "../cli-context.ts";
import { renderHistoryHits } from "../render/render-memory.ts";
import { styleFor } from "../render/style.ts";
import { printJson, printPlaces } from "../terminal/print.ts";
import { findExisting } from "./find-session.ts";
import {
  addSourceFlags,
  countFlag,
  SESSION_ARGUMENT,
  scopeFlag,
  sourceOf,
  timeOf,
} from "./flags.ts";
import { withService } from "./with-service.ts";

function noQuery(): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: "There is no query.",
    hint: 'Type what you look for: `rkat history search "exact words"`.',
  });
}

interface SearchFlags extends SourceConditions {
  readonly scope: SearchScope;
  readonly session?: string;
  readonly fromTurn?: number;
  readonly toTurn?: number;
  readonly since?: string;
  readonly until?: string;
  readonly limit: number;
  readonly json?: true;
}

const LIMIT_DEFAULT = 10;
const turn = countFlag(Number.MAX_SAFE_INTEGER);

/** `rkat history …`. None of it needs a model. */
export function historyCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const style = styleFor(terminal.stdout, terminal.env);
  const history = program.command("history").helpCommand(false);

  const search = addSourceFlags(history.command("search"))
    .description("find words in messages and tool output, pruned text included")
    .argument("[query...]", "the words to look for")
    .option("-n, --limit <n>", "limit of results", countFlag(200, 1), LIMIT_DEFAULT)
    .option("--session <session>", `only this session: ${SESSION_ARGUMENT}`)
    .option("--from-turn <n>", "from this turn on; the first is 0", turn)
    .option("--to-turn <n>", "up to this turn", turn)
    .option("--since <time>", 'from this day or time on (ISO 8601, or "last Tuesday")')
    .option("--until <time>", "up to this time; a day includes all of that day")
    .addOption(
      scopeFlag("search this project, the user-wide store ~/.rkat, or both").default("all"),
    )
    .option("--json", "for scripts")
    .action((words: string[], { session, scope, json, ...flags }: SearchFlags) => {
      const find = async (service: SessionService) => {
        const query = words.join(" ");
        if (query.trim() === "") throw noQuery();
        const sessionId = session === undefined ? undefined : await findExisting(service, session);
        const times = { since: timeOf(flags, "since"), until: timeOf(flags, "until") };
        const filters = {
          ...flags,
          ...sourceOf(flags, terminal),
          ...given({ sessionId, ...times }),
        };
        const hits = await service.searchHistory({ query, ...filters });
        if (json) {
          const found = hits.map((hit) => toWire(historyHit, hit));
          return await printJson(terminal.stdout, found);
        }
        if (hits.length === 0) return await terminal.stderr.write("No matching messages.\n");
        await printPlaces(terminal.stdout, renderHistoryHits(hits, style));
      };
      return withService(context, search, find, { scope });
    });
}
