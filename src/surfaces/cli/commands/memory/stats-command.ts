import type { Command } from "commander";
import type { CliContext } from "../../cli-context.ts";
import { memoryStatsJson } from "../../render/memory-json.ts";
import { renderMemoryStats } from "../../render/render-memory.ts";
import { styleFor } from "../../render/style.ts";
import { printJson } from "../../terminal/print-json.ts";
import { withMemory } from "./with-memory.ts";

/** `rkat memory stats`. */
export function memoryStatsCommand(memory: Command, context: CliContext): void {
  const { terminal } = context;
  const stats = memory
    .command("stats")
    .description("how much is in memory")
    .option("--session <id>", "only of this session")
    .option("--json", "for scripts")
    .action(async ({ session, json }: { session?: string; json?: true }) => {
      if (session !== undefined) {
        const { parseRequest, memoryStats } = await import("../../../../core/requests.ts");
        parseRequest(memoryStats, { sessionId: session });
      }
      await withMemory(context, stats, async (store) => {
        const found = await store.stats(session === undefined ? undefined : { sessionId: session });
        if (json) return await printJson(terminal.stdout, memoryStatsJson(found));
        const style = styleFor(terminal.stdout, terminal.env);
        await terminal.stdout.write(renderMemoryStats(found, style));
      });
    });
}
