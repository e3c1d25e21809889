import type { Command } from "commander";
import { SessionError } from "../../../../core/errors.ts";
import type { MemoryForgotten, SessionService } from "../../../../core/session-service.ts";
import type { CliContext } from "../../cli-context.ts";
import { printable } from "../../render/printable.ts";
import { renderMemoryHits } from "../../render/render-memory.ts";
import { styleFor } from "../../render/style.ts";
import { thousands } from "../../render/thousands.ts";
import { confirm } from "../../terminal/confirm.ts";
import { printJson } from "../../terminal/print-json.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { countFlag, given, shareFlag } from "../flags.ts";
import { withService } from "../with-service.ts";

const LIMIT_DEFAULT = 10;
/** What one request of the service takes. */
const IDS_MAX = 1000;

interface ForgetFlags {
  readonly session?: string;
  readonly query?: string;
  readonly limit: number;
  readonly minScore?: number;
  readonly yes?: true;
  readonly json?: true;
}

/** `rkat memory forget`: takes texts out of memory and out of the logs they came from. */
export function memoryForgetCommand(memory: Command, context: CliContext): void {
  const { terminal } = context;
  const forget = memory
    .command("forget")
    .description("take entries out of memory, and their texts out of the logs they came from")
    .argument("[ids...]", "of entries, as `search`, `list` and --json show them")
    .option("--session <id>", "every entry of this session")
    .option("--query <text>", "what this finds; it is shown, and you are asked")
    .option("-n, --limit <n>", "with --query: results at the most", countFlag(1000), LIMIT_DEFAULT)
    .option("--min-score <score>", "with --query: results score at least this", shareFlag)
    .option("-y, --yes", "do not ask")
    .option("--json", "for scripts")
    .addHelpText("after", WHAT_GOES)
    .action(async (ids: string[], flags: ForgetFlags) => {
      requireOneWay(ids, flags);
      await withService(context, forget, async (service) => {
        const named = flags.query === undefined ? ids : await found(context, service, flags);
        if (!named) return await terminal.stderr.write("Nothing was forgotten.\n");
        const progress = new ProgressLine(terminal.stderr);
        progress.show("forgetting");
        const outcome = await forgetAll(service, named, flags.session).finally(() =>
          progress.clear(),
        );
        if (flags.json) await printJson(terminal.stdout, outcome);
        else await terminal.stdout.write(sentences(outcome));
      });
    });
}

const WHAT_GOES = `
The text goes from memory, from the sessions' logs (a marker stands in its place), from summaries,
task records and what tools recalled of it, from what the project has learned and the rules made of
that, and from .rkat/sessions. Others who said the same are named and stay.
It cannot be undone.
`;

/** Ids of what the query finds, if that is what shall go. */
async function found(
  { terminal }: CliContext,
  service: SessionService,
  { query = "", limit, minScore, yes, json }: ForgetFlags,
): Promise<readonly string[] | undefined> {
  const hits = await service.searchMemory({ query, limit, ...given({ minScore }) });
  if (hits.length === 0) return json ? [] : undefined;
  const { stderr } = terminal;
  if (!json)
    await stderr.write(renderMemoryHits(hits, styleFor(stderr, terminal.env), stderr.columns));
  const these = hits.length === 1 ? "this entry" : `these ${hits.length} entries`;
  return yes || (await confirm(`Forget ${these}?`, terminal))
    ? hits.map(({ id }) => id)
    : undefined;
}

async function forgetAll(
  service: SessionService,
  ids: readonly string[],
  sessionId: string | undefined,
): Promise<MemoryForgotten> {
  if (sessionId !== undefined) return await service.forgetMemory({ sessionId });
  let forgotten = 0;
  const remaining = new Set<string>();
  for (let at = 0; at < ids.length; at += IDS_MAX) {
    const outcome = await service.forgetMemory({ ids: ids.slice(at, at + IDS_MAX) });
    forgotten += outcome.forgotten;
    for (const id of outcome.remaining) remaining.add(id);
  }
  return { forgotten, remaining: [...remaining].filter((id) => !ids.includes(id)) };
}

function sentences({ forgotten, remaining }: MemoryForgotten): string {
  if (forgotten === 0) return "Nothing was forgotten: memory has no such entry.\n";
  const entries = forgotten === 1 ? "1 entry" : `${thousands(forgotten)} entries`;
  const gone = `Forgot ${entries}: no file of the store has the text any more.\n`;
  if (remaining.length === 0) return gone;
  const ids = remaining.map((id) => `  ${printable(id)}\n`).join("");
  return `Forgot ${entries}. The same is said elsewhere, and stays until you forget that too:\n${ids}`;
}

function requireOneWay(ids: readonly string[], { session, query }: ForgetFlags): void {
  const ways = [ids.length > 0, session !== undefined, query !== undefined].filter(Boolean);
  if (ways.length === 1) return;
  throw new SessionError("INVALID_PARAMS", {
    detail:
      ways.length === 0 ? "Nothing is named." : "Ids, --session and --query exclude each other.",
    hint: "Name entries by their ids, all of a session with --session, or ask with --query.",
  });
}
