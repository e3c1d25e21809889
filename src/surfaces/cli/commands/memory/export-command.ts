import type { Command } from "commander";
import type { MemoryEntry, MemoryFilter, MemoryStore } from "../../../../core/memory-store.ts";
import type { CliContext } from "../../cli-context.ts";
import { memoryEntryJson } from "../../render/memory-json.ts";
import { thousands } from "../../render/thousands.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { type FilterFlags, filterOptions, filtersOf } from "./filter-flags.ts";
import { withMemory } from "./with-memory.ts";

/** Entries that are in this process at once. */
const PAGE = 200;

interface ExportFlags extends FilterFlags {
  readonly jsonl?: string;
}

/** `rkat memory export`: memory as `rkat memory add --jsonl` reads it. */
export function memoryExportCommand(memory: Command, context: CliContext): void {
  const { terminal } = context;
  const exports = memory
    .command("export")
    .description("write memory as JSON lines, which `rkat memory add --jsonl` reads back")
    .option("--jsonl <file>", "into this file, whole or not at all; stdout without it");
  filterOptions(exports).action(async ({ jsonl, ...flags }: ExportFlags) => {
    const filters = await filtersOf(flags);
    await withMemory(context, exports, async (store) => {
      if (jsonl === undefined || jsonl === "-") {
        for await (const text of linesOf(store, filters)) await terminal.stdout.write(text);
        return;
      }
      const progress = new ProgressLine(terminal.stderr);
      const { writeNewFile } = await import("../../terminal/write-new-file.ts");
      let written = 0;
      const counted = async function* () {
        for await (const text of linesOf(store, filters)) {
          yield text;
          written += text.split("\n").length - 1;
          progress.show(`writing: ${thousands(written)} entries`);
        }
      };
      try {
        await writeNewFile(jsonl, terminal.cwd, counted());
      } finally {
        progress.clear();
      }
      await terminal.stderr.write(`Wrote ${thousands(written)} entries to ${jsonl}.\n`);
    });
  });
}

/** A page of lines at a time. */
async function* linesOf(store: MemoryStore, filters: MemoryFilter): AsyncIterable<string> {
  for (let last: MemoryEntry | undefined; ; ) {
    const page = await store.list({ ...filters, limit: PAGE, ...(last ? { after: last.id } : {}) });
    last = page.at(-1);
    if (!last) return;
    yield page.map((entry) => `${JSON.stringify(memoryEntryJson(entry))}\n`).join("");
  }
}
