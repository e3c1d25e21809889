import type { Command } from "commander";
import { ERRORS } from "../../../core/errors.ts";
import type { Watch } from "../../../core/memory-store.ts";
import type { OpenMemory } from "../../../core/operations/memory.ts";
import { calledIn } from "../../called-in.ts";
import type { CliContext } from "../../cli-context.ts";
import { plural, thousands } from "../../render/amounts.ts";
import { printable } from "../../render/printable.ts";
import { printJson } from "../../terminal/print.ts";
import { longWork } from "../../terminal/progress-line.ts";
import { withMemory } from "../with-service.ts";

/** `rkat memory verify`, for operators. */
export function verifyCommand(memory: Command, context: CliContext): void {
  const { stdout } = context.terminal;
  const verify = memory
    .command("verify")
    .description(
      "compare the index with the entries, and these with the log; fails when something is wrong",
    )
    .option("--json", "for scripts")
    .action(({ json }: { json?: true }) =>
      watched(context, verify, "checking", async (operations, watch) => {
        const { entries, problems } = await operations.verify(watch);
        if (problems.length > 0) context.exitCode = ERRORS.SESSION_STORE_ERROR.exitCode;
        if (json) return () => printJson(stdout, { entries, problems });
        const found = problems.map((problem) => `${printable(problem)}\n`).join("");
        const checked = `Checked ${plural(entries, "entry", "entries")}`;
        const end =
          problems.length === 0
            ? `${checked}: the index is sound, and memory has what the log has.\n`
            : `${checked}. \`rkat memory reindex\` makes the index and what is missing again.\n`;
        return () => stdout.write(found + calledIn(end, context.rkat));
      }),
    );
}

/** `rkat memory reindex`, for operators. */
export function reindexCommand(memory: Command, context: CliContext): void {
  const { stdout } = context.terminal;
  const reindex = memory
    .command("reindex")
    .description("rebuild the index, and fill memory from the log; searches work meanwhile")
    .option("--json", "for scripts")
    .action(({ json }: { json?: true }) =>
      watched(context, reindex, "indexing", async (operations, watch) => {
        const { mended } = await operations.reindex(watch);
        const { entries } = await operations.memoryStats({});
        if (json) return () => printJson(stdout, { entries, mended });
        const fixed = mended.map((problem) => `Mended: ${printable(problem)}\n`).join("");
        const built = `Rebuilt the index of ${plural(entries, "entry", "entries")}.\n`;
        return () => stdout.write(fixed + built);
      }),
    );
}

/** Runs work that shows its progress and that Ctrl-C stops; then calls what the work returned. */
function watched(
  context: CliContext,
  command: Command,
  doing: string,
  work: (memory: OpenMemory, watch: Watch) => Promise<() => Promise<void>>,
): Promise<void> {
  return withMemory(
    context,
    command,
    (memory) =>
      longWork(context, "The index has not changed.", async (progress, signal) => {
        progress.show(doing);
        const report = await work(memory, {
          signal,
          onProgress: ({ done, total }) =>
            progress.show(`${doing}: ${thousands(done)} of ${thousands(total)}`),
        });
        progress.clear();
        await report();
      }),
    { needsStore: true },
  );
}
