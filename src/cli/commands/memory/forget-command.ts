import type { Command } from "commander";
import type { SearchScope } from "../../../config/settings.ts";
import { SessionError } from "../../../core/errors.ts";
import { sumCleaned } from "../../../core/event.ts";
import { given } from "../../../core/fields.ts";
import type { ShownEntry } from "../../../core/memory-store.ts";
import type { MemoryForgotten } from "../../../core/operations/memory.ts";
import { memoryForgotten } from "../../../core/operations/memory.ts";
import type { SessionService } from "../../../core/session-service.ts";
import { toWire } from "../../../core/wire.ts";
import { shellWord } from "../../../text/quoting.ts";
import type { CliContext } from "../../cli-context.ts";
import { plural, thousands } from "../../render/amounts.ts";
import { oneLine, printable } from "../../render/printable.ts";
import { renderMemoryEntries, renderNumberedHits } from "../../render/render-memory.ts";
import { type Style, styleFor } from "../../render/style.ts";
import { confirm, pick } from "../../terminal/ask.ts";
import { printJson } from "../../terminal/print.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { findExisting } from "../find-session.ts";
import { countFlag, SESSION_ARGUMENT, scopeFlag, shareFlag } from "../flags.ts";
import { withService } from "../with-service.ts";
import { waitForMemory } from "./wait-for-memory.ts";

const LIMIT_DEFAULT = 10;
/** The most ids in one request. */
const IDS_MAX = 1000;
/** Entries read at once. */
const PAGE = 1000;

interface ForgetFlags {
  readonly session?: string;
  readonly query?: string;
  readonly limit?: number;
  readonly minScore?: number;
  readonly scope: SearchScope;
  readonly yes?: true;
  readonly json?: true;
}

/** `rkat memory forget`: deletes texts from memory and from the logs they came from. */
export function forgetCommand(memory: Command, context: CliContext): void {
  const { terminal } = context;
  const forget = memory
    .command("forget")
    .description("delete entries from memory, and their texts from the logs they came from")
    .argument("[ids...]", "ids of entries, as `search` and `list` show them")
    .option("--session <session>", `everything that was said in a session: ${SESSION_ARGUMENT}`)
    .option(
      "--query <text>",
      "search, then pick from the results; with --yes, all that have this exact phrase",
    )
    .option(
      "-n, --limit <n>",
      `with --query: limit of results (default: ${LIMIT_DEFAULT}; with --yes, none)`,
      countFlag(1000, 1),
    )
    .option("--min-score <score>", "with --query: only results with at least this score", shareFlag)
    .addOption(
      scopeFlag("forget in this project, the user-wide store ~/.rkat, or both").default("all"),
    )
    .option("-y, --yes", "do not ask; without a terminal --session asks nothing")
    .option("--json", "for scripts")
    .addHelpText("after", WHAT_GOES)
    .action(async (ids: string[], flags: ForgetFlags) => {
      requireOneWay(ids, flags);
      if (flags.query === undefined) refuseQueryFlags(forget);
      else if (flags.yes && flags.minScore !== undefined) throw scoredPhrase();
      const again = `${context.rkat} memory forget${flags.scope === "all" ? "" : ` --scope ${flags.scope}`}`;
      const work = async (service: SessionService) => {
        const named = flags.query === undefined ? ids : await found(context, service, flags);
        const sessionId =
          flags.session === undefined ? undefined : await inMemory(service, flags.session);
        const agreed =
          sessionId === undefined || (await agrees(context, service, sessionId, flags));
        if (!named || !agreed) return await terminal.stderr.write("Nothing was forgotten.\n");
        const progress = new ProgressLine(terminal.stderr);
        progress.show("forgetting");
        const outcome = await forgetAll(service, named, sessionId).finally(() => progress.clear());
        if (flags.json) await printJson(terminal.stdout, toWire(memoryForgotten, outcome));
        else {
          const texts = await textsOf(outcome.remaining, service);
          await terminal.stdout.write(
            sentences(outcome, texts, { again, columns: terminal.stdout.columns }),
          );
        }
      };
      await withService(context, forget, work, { scope: flags.scope });
    });
}

const WHAT_GOES = `
The text is deleted from memory, from the logs (a marker takes its place), from summaries,
task records and recalled results, from what the project has learned, from the rules made of
that, and from .rkat/sessions. Other messages that say the same are listed, and are kept.
This cannot be undone.
`;

/** The ids of the results that the user picks. Searching is a loose match, so with `--yes` only entries that have the exact phrase go. */
async function found(
  context: CliContext,
  service: SessionService,
  { query = "", limit, minScore, yes, json }: ForgetFlags,
): Promise<readonly string[] | undefined> {
  const { terminal } = context;
  const { stderr, stdin, env } = terminal;
  const style = styleFor(stderr, env);
  await waitForMemory(context, service);
  if (yes) {
    const entries = await havingPhrase(query, service, limit);
    if (!json) await stderr.write(renderSome(entries, style));
    return entries.length > 0 || json ? entries.map(({ id }) => id) : undefined;
  }
  const hits = await service.searchMemory({
    query,
    limit: limit ?? LIMIT_DEFAULT,
    ...given({ minScore }),
  });
  if (hits.length === 0) return json ? [] : undefined;
  // A person sees the results that they are asked about, whatever a script reads.
  if (!json || stdin.isTerminal)
    await stderr.write(renderNumberedHits(hits, style, stderr.columns));
  const otherwise = `Give ids, or pass --yes to forget what has the exact phrase "${query}".`;
  const picked = await pick(hits.length, otherwise, terminal);
  return picked.length === 0 ? undefined : picked.flatMap((position) => hits[position]?.id ?? []);
}
/** The entries that have the phrase, in any capitals. All are read: a search leaves out what its words are too common for. */
async function havingPhrase(
  query: string,
  service: SessionService,
  limit = Number.POSITIVE_INFINITY,
): Promise<readonly ShownEntry[]> {
  const phrase = query.toLowerCase();
  const having: ShownEntry[] = [];
  for (let after: string | undefined; having.length < limit; ) {
    const page = await service.listMemory({ limit: PAGE, ...given({ after }) });
    having.push(...page.filter(({ content }) => content.toLowerCase().includes(phrase)));
    after = page.at(-1)?.id;
    if (page.length < PAGE) break;
  }
  return having.slice(0, limit);
}

/** The first entries, and how many more there are. */
function renderSome(entries: readonly ShownEntry[], style: Style): string {
  const more = entries.length - LIMIT_DEFAULT;
  const shown = renderMemoryEntries(entries.slice(0, LIMIT_DEFAULT), style);
  return more > 0 ? `${shown}\nand ${thousands(more)} more\n` : shown;
}

/** The session that is named. Texts can be added under any name, and a deleted session can still be forgotten. */
async function inMemory(service: SessionService, name: string): Promise<string> {
  const { entries } = await service.memoryStats({ sessionId: name });
  return entries > 0 ? name : await findExisting(service, name, { includeDeleted: true });
}

/** Asks a person whether everything of a session is to be forgotten. */
async function agrees(
  { terminal }: CliContext,
  service: SessionService,
  sessionId: string,
  { yes, json }: ForgetFlags,
): Promise<boolean> {
  if (yes || json || !terminal.stdin.isTerminal) return true;
  const { entries } = await service.memoryStats({ sessionId });
  return await confirm(
    `forget everything that was said in session ${printable(sessionId)} (${plural(entries, "entry", "entries")})`,
    terminal,
  );
}

async function forgetAll(
  service: SessionService,
  ids: readonly string[],
  sessionId: string | undefined,
): Promise<MemoryForgotten> {
  if (sessionId !== undefined) return await service.forgetMemory({ sessionId });
  const outcomes: MemoryForgotten[] = [];
  for (let at = 0; at < ids.length; at += IDS_MAX) {
    outcomes.push(await service.forgetMemory({ ids: ids.slice(at, at + IDS_MAX) }));
  }
  const remaining = new Set(outcomes.flatMap((outcome) => outcome.remaining));
  const listed = [...remaining].filter((id) => !ids.includes(id));
  return {
    forgotten: outcomes.reduce((sum, outcome) => sum + outcome.forgotten, 0),
    remaining: listed,
    remainingCount: Math.max(listed.length, ...outcomes.map((one) => one.remainingCount)),
    cleaned: sumCleaned(outcomes.flatMap((outcome) => outcome.cleaned)),
    notCleaned: outcomes.find((outcome) => outcome.forgotten > 0)?.notCleaned ?? [],
    notFound: outcomes.flatMap((outcome) => outcome.notFound),
  };
}

/** The texts of entries, by id. A message that is not in memory yet has none. */
async function textsOf(
  ids: readonly string[],
  service: SessionService,
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const named = ids.slice(0, IDS_MAX);
  // The texts are gone by now, even if this fails.
  const found = await service.listMemory({ id: named, limit: named.length }).catch(() => []);
  return new Map(found.map(({ id, content }) => [id, content]));
}

function sentences(
  { forgotten, remaining, remainingCount, cleaned, notCleaned, notFound }: MemoryForgotten,
  texts: ReadonlyMap<string, string>,
  { again, columns }: { readonly again: string; readonly columns: number },
): string {
  const missing = notFoundText(notFound);
  if (forgotten === 0) return `Nothing was forgotten: ${missing || "no matching entries."}\n`;
  const places = cleaned.map(({ place, count }) => `${place.replaceAll("_", " ")} ${count}`);
  const receipt = [
    `Forgot ${plural(forgotten, "entry", "entries")}. Deleted from: ${places.join(", ")}.`,
    ...notCleaned.map(({ why }) => `Not deleted: ${why}`),
    ...(missing === "" ? [] : [`Not forgotten: ${missing}`]),
  ];
  if (remaining.length > 0) {
    receipt.push(
      `Others that say the same or have one of its names: ${thousands(remainingCount)}. They are kept until you forget them too:`,
    );
    receipt.push(
      ...remaining.map((id) => {
        const start = oneLine(texts.get(id) ?? "", Math.max(20, columns - id.length - 4));
        return `  ${printable(id)}${start && `  ${start}`}`;
      }),
      ...(remainingCount > remaining.length
        ? [
            `  and ${plural(remainingCount - remaining.length, "more", "more")}, which the next receipt lists`,
          ]
        : []),
      `To forget them too: ${again} ${remaining.some((id) => id.startsWith("-")) ? "-- " : ""}${remaining.map((id) => printable(shellWord(id))).join(" ")}`,
    );
  }
  return `${receipt.join("\n")}\n`;
}

/** Ids that a line names. */
const NAMED_MAX = 20;

/** The ids that nothing has, in a sentence; empty where there are none. */
function notFoundText(ids: readonly string[]): string {
  if (ids.length === 0) return "";
  const named = ids.slice(0, NAMED_MAX).map((id) => `"${oneLine(id)}"`);
  const more = ids.length - named.length;
  return `nothing has the id ${named.join(", ")}${more > 0 ? ` or ${thousands(more)} others` : ""}.`;
}

function requireOneWay(ids: readonly string[], { session, query }: ForgetFlags): void {
  const isAsked = query !== undefined && query.trim() !== "";
  const ways = [ids.length > 0, session !== undefined, isAsked].filter(Boolean);
  if (ways.length === 1) return;
  throw new SessionError("INVALID_PARAMS", {
    message:
      ways.length === 0
        ? "Nothing to forget is named."
        : "Ids, --session and --query exclude each other.",
    hint: "Give ids of entries, a session with --session, or a query with --query.",
  });
}

function scoredPhrase(): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message:
      "--min-score is for results that you pick from. With --yes an entry goes that has the exact phrase, whatever it scores.",
    hint: "Leave --min-score or --yes out.",
  });
}

/** Refuses flags of a query where there is none: a limit that is ignored would forget more than you asked for. */
function refuseQueryFlags(forget: Command): void {
  const named = ["limit", "minScore"].find((name) => forget.getOptionValueSource(name) === "cli");
  const flag = forget.options.find((option) => option.attributeName() === named)?.long;
  if (flag === undefined) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `${flag} is for a query.`,
    hint: "Give the query with --query, or leave the flag out.",
  });
}
