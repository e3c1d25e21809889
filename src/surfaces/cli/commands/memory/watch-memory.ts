import type { Command } from "commander";
import { ERRORS } from "../../../../core/errors.ts";
import type { MemoryStore, Watch } from "../../../../core/memory-store.ts";
import type { CliContext } from "../../cli-context.ts";
import { thousands } from "../../render/thousands.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { withMemory } from "./with-memory.ts";

/** Runs work that shows how far it is and that Ctrl-C stops; then says what came of it. */
export function watchMemory(
  context: CliContext,
  command: Command,
  doing: string,
  work: (store: MemoryStore, watch: Watch) => Promise<() => Promise<void>>,
): Promise<void> {
  const { terminal } = context;
  return withMemory(context, command, (store) =>
    terminal.interruptible(async (signal) => {
      const progress = new ProgressLine(terminal.stderr);
      progress.show(doing);
      try {
        const say = await work(store, {
          signal,
          onProgress: ({ done, total }) =>
            progress.show(`${doing}: ${thousands(done)} of ${thousands(total)}`),
        });
        progress.clear();
        await say();
      } catch (error) {
        if (!signal.aborted) throw error;
        progress.clear();
        context.exitCode = ERRORS.TURN_INTERRUPTED.exitCode;
        await terminal.stderr.write("Stopped; the index is the one that it was.\n");
      } finally {
        progress.clear();
      }
    }),
  );
}
