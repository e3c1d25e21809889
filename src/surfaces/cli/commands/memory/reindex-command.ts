import type { Command } from "commander";
import type { CliContext } from "../../cli-context.ts";
import { plural } from "../../render/plural.ts";
import { printJson } from "../../terminal/print-json.ts";
import { watchMemory } from "./watch-memory.ts";

/** `rkat memory reindex`, for who runs the store. */
export function memoryReindexCommand(memory: Command, context: CliContext): void {
  const { stdout } = context.terminal;
  const reindex = memory
    .command("reindex")
    .description("build the index anew from the entries; search goes on meanwhile")
    .option("--json", "for scripts")
    .action(({ json }: { json?: true }) =>
      watchMemory(context, reindex, "indexing", async (store, watch) => {
        await store.reindex(watch);
        const { entries } = await store.stats();
        if (json) return () => printJson(stdout, { entries });
        return () => stdout.write(`The index of ${plural(entries, "entry", "entries")} is new.\n`);
      }),
    );
}
