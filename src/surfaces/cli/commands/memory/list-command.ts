import type { Command } from "commander";
import type { CliContext } from "../../cli-context.ts";
import { memoryEntryJson } from "../../render/memory-json.ts";
import { renderMemoryEntries } from "../../render/render-memory.ts";
import { styleFor } from "../../render/style.ts";
import { printJson } from "../../terminal/print-json.ts";
import { countFlag, given } from "../flags.ts";
import { type FilterFlags, filterOptions, filtersOf } from "./filter-flags.ts";
import { withMemory } from "./with-memory.ts";

const LIMIT_DEFAULT = 20;

interface ListFlags extends FilterFlags {
  readonly limit: number;
  readonly after?: string;
  readonly json?: true;
}

/** `rkat memory list`: what is in memory, page by page. */
export function memoryListCommand(memory: Command, context: CliContext): void {
  const { terminal } = context;
  const style = styleFor(terminal.stdout, terminal.env);
  const list = memory
    .command("list")
    .description("what is in memory, in the order it was stored")
    .option("-n, --limit <n>", "entries at the most", countFlag(1000), LIMIT_DEFAULT)
    .option("--after <id>", "only what comes after this entry")
    .option("--json", "for scripts");
  filterOptions(list).action(async ({ limit, after, json, ...flags }: ListFlags) => {
    const filters = await filtersOf(flags);
    await withMemory(context, list, async (store) => {
      const entries = await store.list({ limit, ...filters, ...given({ after }) });
      if (json) return await printJson(terminal.stdout, entries.map(memoryEntryJson));
      if (entries.length === 0)
        return await terminal.stderr.write("No entry of memory is meant.\n");
      await terminal.stdout.write(renderMemoryEntries(entries, style));
      const last = entries.at(-1);
      if (last && entries.length === limit) {
        await terminal.stderr.write(`There may be more: --after ${JSON.stringify(last.id)}\n`);
      }
    });
  });
}
