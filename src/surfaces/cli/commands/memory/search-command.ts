import type { Command } from "commander";
import type { Config } from "../../../../config/config.ts";
import { SessionError } from "../../../../core/errors.ts";
import type { MemoryHit, MemoryQuery, MemoryStore } from "../../../../core/memory-store.ts";
import type { CliContext } from "../../cli-context.ts";
import { memoryHitJson } from "../../render/memory-json.ts";
import { renderMemoryHits, renderNothingFound } from "../../render/render-memory.ts";
import { styleFor } from "../../render/style.ts";
import { printJson } from "../../terminal/print-json.ts";
import { countFlag, given, listFlag, shareFlag } from "../flags.ts";
import { type FilterFlags, filterOptions, filtersOf } from "./filter-flags.ts";
import { withMemory } from "./with-memory.ts";

const QUERIES_MAX = 20;

interface SearchFlags extends FilterFlags {
  readonly limit?: number;
  readonly query?: readonly string[];
  readonly queries?: string;
  readonly minScore?: number;
  readonly neighbours?: number;
  readonly explain?: true;
  readonly maxTokens?: number;
  readonly json?: true;
}

/** `rkat memory search`: loads as little as it can, because people wait for it. */
export function memorySearchCommand(memory: Command, context: CliContext): void {
  const { terminal } = context;
  const style = styleFor(terminal.stdout, terminal.env);
  const search = memory
    .command("search")
    .description("find what was said, by what it said")
    .argument("[query...]", "what you look for")
    .option("-q, --query <text>", "another question, asked together with the others", listFlag)
    .option("-n, --limit <n>", "results at the most (default: search.max_results)", countFlag(1000))
    .option("--neighbours <n>", "so many entries before and after each result", countFlag(20))
    .option("--min-score <score>", "results score at least this, from 0 to 1", shareFlag)
    .option("--max-tokens <n>", "results end where their texts take more", countFlag(1e9, 1))
    .option("--explain", "say how each score came about")
    .option("--queries <file>", 'many searches: one {"id","text"} a line, - for stdin')
    .option("--json", "for scripts")
    .addHelpText("after", SCORES);
  filterOptions(search).action(async (words: string[], flags: SearchFlags) => {
    const { limit, minScore, neighbours, explain, maxTokens, queries } = flags;
    const questions = [...(words.length > 0 ? [words.join(" ")] : []), ...(flags.query ?? [])];
    requireQuestions(questions, queries);
    const filters = await filtersOf(flags);
    await withMemory(context, search, async (store, { config }) => {
      requireSearch(config);
      const options = {
        limit: limit ?? config.get("search.max_results"),
        ...filters,
        ...given({ minScore, neighbours, explain }),
      };
      const find = async (query: MemoryQuery["query"]) =>
        await fitting(await store.search({ ...options, query }), maxTokens);
      if (queries !== undefined) {
        const { readQueries } = await import("./read-queries.ts");
        // All are read before the first is asked, so that a bad line costs nothing.
        for (const { id, text } of await readQueries(queries, terminal)) {
          const results = (await find(text)).map(memoryHitJson);
          await terminal.stdout.write(`${JSON.stringify({ id, results })}\n`);
        }
        return;
      }
      const hits = await find(questions.length === 1 ? (questions[0] ?? "") : questions);
      if (flags.json) await printJson(terminal.stdout, hits.map(memoryHitJson));
      else if (hits.length > 0) {
        await terminal.stdout.write(renderMemoryHits(hits, style, terminal.stdout.columns));
      } else await sayNothingFound(context, store, options);
    });
  });
}

const SCORES = `
A score of 1 is the same text, 0.7 and up has most of what you asked for, and what is below
the floor of the store (0.3) is not shown; --min-score moves it.
`;

async function fitting(
  hits: readonly MemoryHit[],
  maxTokens: number | undefined,
): Promise<readonly MemoryHit[]> {
  if (maxTokens === undefined) return hits;
  const { withinTokens } = await import("../../../../core/within-tokens.ts");
  return withinTokens(hits, maxTokens);
}

async function sayNothingFound(
  { terminal }: CliContext,
  store: MemoryStore,
  { limit: _, ...asked }: Omit<MemoryQuery, "query">,
): Promise<void> {
  const style = styleFor(terminal.stderr, terminal.env);
  await terminal.stderr.write(renderNothingFound(await store.stats(), asked, style));
}

function requireSearch(config: Config): void {
  if (config.get("search.enabled")) return;
  throw new SessionError("SESSION_MEMORY_DISABLED", {
    detail: "Memory is kept, and not searched.",
    hint: "Set enabled = true under [search].",
  });
}

function requireQuestions(questions: readonly string[], queries: string | undefined): void {
  const problem =
    questions.length > 0 && queries !== undefined
      ? "There is a query, and --queries too."
      : questions.length === 0 && queries === undefined
        ? "There is no query."
        : questions.length > QUERIES_MAX
          ? `There are ${questions.length} queries; ${QUERIES_MAX} may be asked together.`
          : undefined;
  if (problem === undefined) return;
  throw new SessionError("INVALID_PARAMS", {
    detail: problem,
    hint: 'Say what you look for: rkat memory search "your words", or name a file with --queries.',
  });
}
