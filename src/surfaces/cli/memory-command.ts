import type { Command } from "commander";
import { SessionError } from "../../core/errors.ts";
import type { MemoryStore } from "../../core/memory-store.ts";
import type { SearchMemory } from "../../core/requests.ts";
import type { CliContext, StoreAccess } from "./cli-context.ts";
import { countFlag, given } from "./flags.ts";
import { memoryAddCommand } from "./memory-add-command.ts";
import { memoryHitJson, memoryStatsJson } from "./memory-json.ts";
import { printJson } from "./print-json.ts";
import { readQueries } from "./read-queries.ts";
import { renderMemoryHits, renderMemoryStats } from "./render-memory.ts";
import { styleFor } from "./style.ts";
import { workspaceOf } from "./with-service.ts";

const LIMIT_DEFAULT = 10;

interface SearchFlags {
  readonly limit: number;
  readonly session?: string;
  readonly role?: string;
  readonly since?: string;
  readonly until?: string;
  readonly queries?: string;
  readonly json?: true;
}

/** `rkat memory …`. None of it needs a model. */
export function memoryCommand(program: Command, context: CliContext): void {
  const memory = program
    .command("memory")
    .description("search and fill the project's memory")
    .helpCommand(false);
  const { terminal } = context;
  const style = styleFor(terminal.stdout, terminal.env);

  const search = memory
    .command("search")
    .description("find what was said, by what it said")
    .argument("[query...]", "what you look for")
    .option("-n, --limit <n>", "results at the most", countFlag(1000), LIMIT_DEFAULT)
    .option("--session <id>", "only of this session")
    .option("--role <role>", "only what this role said: user, assistant …")
    .option("--since <time>", "only from then on (ISO 8601)")
    .option("--until <time>", "only until then (ISO 8601)")
    .option("--queries <file>", 'many searches: one {"id","text"} a line, - for stdin')
    .option("--json", "for scripts")
    .action(async (words: string[], flags: SearchFlags) => {
      const { limit, session, role, since, until, queries } = flags;
      const filters = { limit, ...given({ sessionId: session, role, since, until }) };
      const query = words.join(" ");
      requireOneQuestion(query, queries);
      await requireValid(filters);
      await withMemory(context, search, async (store) => {
        if (queries !== undefined) {
          // All are read before the first is asked, so that a bad line costs nothing.
          for (const { id, text } of await readQueries(queries, terminal)) {
            const hits = await store.search({ ...filters, query: text });
            const results = hits.map((hit) => ({ id: hit.id, ...memoryHitJson(hit) }));
            await terminal.stdout.write(`${JSON.stringify({ id, results })}\n`);
          }
          return;
        }
        const hits = await store.search({ ...filters, query });
        if (flags.json) await printJson(terminal.stdout, hits.map(memoryHitJson));
        else if (hits.length > 0) await terminal.stdout.write(renderMemoryHits(hits, style));
        else await terminal.stderr.write("Nothing relevant is in memory.\n");
      });
    });

  memoryAddCommand(memory, context, withMemory);

  const stats = memory
    .command("stats")
    .description("how much is in memory")
    .option("--json", "for scripts")
    .action(({ json }: { json?: true }) =>
      withMemory(context, stats, async (store) => {
        const found = await store.stats();
        if (json) await printJson(terminal.stdout, memoryStatsJson(found));
        else await terminal.stdout.write(renderMemoryStats(found, style));
      }),
    );
}

export type WithMemory = typeof withMemory;

async function withMemory(
  context: CliContext,
  command: Command,
  work: (store: MemoryStore) => Promise<void>,
  access: StoreAccess = "existing",
): Promise<void> {
  const workspace = await workspaceOf(context, command);
  const memory = await context.engine.openMemory(workspace, access);
  try {
    await work(memory.it);
  } finally {
    await memory.close();
  }
}

/** As the service would; its schemas load only for filters that no flag has checked. */
async function requireValid({ limit: _, ...filters }: Omit<SearchMemory, "query">): Promise<void> {
  if (Object.keys(filters).length === 0) return;
  const { parseRequest, searchMemory } = await import("../../core/requests.ts");
  parseRequest(searchMemory, { query: "", ...filters });
}

function requireOneQuestion(query: string, queries: string | undefined): void {
  if ((query === "") === (queries !== undefined)) return;
  throw new SessionError("INVALID_PARAMS", {
    detail: query === "" ? "There is no query." : "There is a query, and --queries too.",
    hint: 'Say what you look for: rkat memory search "your words", or name a file with --queries.',
  });
}
