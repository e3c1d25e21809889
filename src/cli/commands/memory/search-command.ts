import type { Command } from "commander";
import type { SearchScope } from "../../../config/settings.ts";
import { SessionError } from "../../../core/errors.ts";
import { given } from "../../../core/fields.ts";
import type { OpenMemory } from "../../../core/operations/memory.ts";
import type { SessionService } from "../../../core/session-service.ts";
import { readClock } from "../../../text/time/calendar.ts";
import type { CliContext } from "../../cli-context.ts";
import {
  memoryJson,
  renderLag,
  renderMemoryHits,
  renderNothingFound,
} from "../../render/render-memory.ts";
import { styleFor } from "../../render/style.ts";
import type { Checked } from "../../terminal/input-file.ts";
import { jsonText, printJson, printPlaces, printText } from "../../terminal/print.ts";
import {
  addFilterFlags,
  countFlag,
  type FilterFlags,
  type Filters,
  filtersOf,
  listFlag,
  scopeFlag,
  shareFlag,
} from "../flags.ts";
import { withMemory, withService } from "../with-service.ts";

const QUERIES_MAX = 20;

interface SearchFlags extends FilterFlags {
  readonly limit?: number;
  readonly query?: readonly string[];
  readonly queries?: string;
  readonly minScore?: number;
  readonly neighbours?: number;
  readonly explain?: true;
  readonly maxTokens?: number;
  readonly at?: string;
  readonly scope: SearchScope;
  readonly json?: true;
}

/** The options that `--queries` and the words of the command line share. */
type SearchOptions = Omit<Parameters<OpenMemory["searchMemory"]>[0], "query">;

/** `rkat memory search`: loads as little as it can, because people wait for it. */
export function searchCommand(memory: Command, context: CliContext): void {
  const search = memory
    .command("search")
    .description("find what was said")
    .argument("[query...]", "what to look for")
    .option("-q, --query <text>", "another query to search with the first (repeatable)", listFlag)
    .option("-n, --limit <n>", "limit of results (default: search.max_results)", countFlag(1000, 1))
    .option(
      "--neighbours <n>",
      "show this many entries before and after each result",
      countFlag(20),
    )
    .option("--min-score <score>", "only results with at least this score, 0 to 1", shareFlag)
    .option("--max-tokens <n>", "limit of tokens of all results", countFlag(1e9, 1))
    .option("--explain", "show how each score came about")
    .option("--at <time>", 'when it is asked, for "yesterday" and the like (default: now, here)')
    .option("--queries <file>", 'many searches: one {"id","text","at"?} per line, - for stdin')
    .addOption(
      scopeFlag("search this project, the user-wide store ~/.rkat, or both").default("all"),
    )
    .option("--json", "for scripts")
    .addHelpText("after", SCORES);
  addFilterFlags(search).action(async (words: string[], flags: SearchFlags) => {
    const { limit, minScore, neighbours, explain, maxTokens, queries, at } = flags;
    const typed = [words.join(" "), ...(flags.query ?? [])].filter((query) => query.trim() !== "");
    requireQuery(typed, queries);
    await withFilteredMemory(context, search, flags, (operations, filters) => {
      const options = given({ limit, minScore, neighbours, explain, maxTokens, at, ...filters });
      return queries === undefined
        ? searchOnce(context, operations, typed, options, flags.json)
        : searchMany(context, operations, queries, options);
    });
  });
}

const SCORES = `
A score of 1 is the same text. Of results with 0.7 or more, seven of ten are right. Results that
have too little of the question are not shown; with --min-score, only the score counts.

Words are compared, so try the words that were used. For texts in other words, set
[embeddings] provider to "ollama", "openai" or "fast" in .rkat/config.toml.
`;

async function searchOnce(
  { terminal, rkat }: CliContext,
  memory: OpenMemory,
  queries: string[],
  options: SearchOptions,
  json: true | undefined,
): Promise<void> {
  const { stdout, stderr, env } = terminal;
  const [only = ""] = queries;
  const hits = await memory.searchMemory({
    ...options,
    query: queries.length === 1 ? only : queries,
  });
  await printText(stderr, renderLag(hits.behind, rkat));
  if (json) return await printJson(stdout, memoryJson(hits));
  if (hits.length > 0) {
    return await printPlaces(stdout, renderMemoryHits(hits, styleFor(stdout, env), stdout.columns));
  }
  const style = styleFor(stderr, env);
  await printText(stderr, renderNothingFound(await memory.memoryStats({}), options, style, rkat));
}

/** Searches for each line of a file. All lines are read first, so that a bad line stops everything. */
async function searchMany(
  { terminal }: CliContext,
  memory: OpenMemory,
  file: string,
  options: SearchOptions,
): Promise<void> {
  const { readJsonLines } = await import("../../terminal/input-file.ts");
  const queries = await Array.fromAsync(readJsonLines(file, terminal, checkQuery));
  for (const { id, text, at } of queries) {
    const asked = { ...options, query: text, ...given({ at: at ?? options.at }) };
    const hits = await memory.searchMemory(asked);
    const found = { id, results: memoryJson(hits), ...given({ behind: hits.behind }) };
    await terminal.stdout.write(`${jsonText(found)}\n`);
  }
}

/** A line of `--queries`. Its id is returned with the results. */
interface NamedQuery {
  readonly id: string | number;
  readonly text: string;
  /** When and where it was asked. */
  readonly at?: string;
}

function checkQuery(json: unknown): Checked<NamedQuery> {
  const { id, text, at } = json as Readonly<Record<string, unknown>>;
  if (typeof id !== "string" && typeof id !== "number") {
    return { problem: 'has no "id", which must be a text or a number' };
  }
  if (typeof text !== "string") return { problem: 'has no "text"' };
  if (at !== undefined && (typeof at !== "string" || readClock(at) === undefined)) {
    return {
      problem: 'has an "at" that is no time, such as 2026-11-26T10:00:00+01:00[Europe/Berlin]',
    };
  }
  return { value: { id, text, ...given({ at }) } };
}

function requireQuery(queries: readonly string[], file: string | undefined): void {
  const problem =
    queries.length > 0 && file !== undefined
      ? "A query and --queries exclude each other."
      : queries.length === 0 && file === undefined
        ? "There is no query."
        : queries.length > QUERIES_MAX
          ? `There are ${queries.length} queries, but the limit is ${QUERIES_MAX}.`
          : undefined;
  if (problem === undefined) return;
  throw new SessionError("INVALID_PARAMS", {
    message: problem,
    hint: 'Type what you look for: `rkat memory search "your words"`. Or name a file with --queries.',
  });
}

const FULL_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * Opens memory and reads the filters of the flags. `--session` takes a full id or any name under which
 * texts were added as it is. The agent is loaded only to resolve another name.
 */
export async function withFilteredMemory(
  context: CliContext,
  command: Command,
  flags: FilterFlags & { readonly scope?: SearchScope },
  work: (memory: OpenMemory, filters: Filters) => Promise<void>,
): Promise<void> {
  const filters = await filtersOf(flags, context.terminal);
  const scope = given({ scope: flags.scope });
  const search = async (memory: OpenMemory) => {
    const { sessionId: name } = filters;
    if (name === undefined || FULL_ID.test(name)) return await work(memory, filters);
    const { entries } = await memory.memoryStats({ sessionId: name });
    if (entries > 0) return await work(memory, filters);
    const { findExisting } = await import("../find-session.ts");
    const find = (service: SessionService) => findExisting(service, name);
    const sessionId = await withService(context, command, find, scope);
    await work(memory, { ...filters, sessionId });
  };
  await withMemory(context, command, search, scope);
}
