import type { Command } from "commander";
import { moveStore } from "../../app/open-stores.ts";
import { ERRORS } from "../../core/errors.ts";
import type { CliContext } from "../cli-context.ts";
import { plural, thousands } from "../render/amounts.ts";
import { printJson } from "../terminal/print.ts";
import { ProgressLine } from "../terminal/progress-line.ts";
import { workspaceOf } from "./with-service.ts";

interface MoveFlags {
  readonly to: string;
  readonly from?: string;
  readonly json?: true;
}

/** `rkat move`: copies everything of one store into another. */
export function moveCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const command = program
    .command("move")
    .description("copy everything of this project's store into another store")
    .requiredOption("--to <store>", "postgres://user@host/database, or a SQLite file")
    .option("--from <store>", "the store to copy (default: the one that the project uses)")
    .option("--json", "for scripts")
    .action(({ to, from, json }: MoveFlags) =>
      terminal.interruptible(async (signal) => {
        const workspace = await workspaceOf(context, command);
        const progress = new ProgressLine(terminal.stderr);
        progress.show("moving");
        try {
          const report = await moveStore(workspace, {
            to,
            ...(from === undefined ? {} : { from }),
            signal,
            onProgress: (done) => progress.show(`moving: ${thousands(done)} compared`),
          });
          progress.clear();
          if (json) return await printJson(terminal.stdout, report);
          const parts = [
            plural(report.sessions, "session"),
            plural(report.events, "event"),
            plural(report.memories, "memory entry", "memory entries"),
            plural(report.knowledge, "knowledge entry", "knowledge entries"),
            plural(report.deleted, "deleted session"),
            plural(report.users, "user"),
          ];
          await terminal.stdout.write(
            `Both stores have the same: ${parts.join(", ")}.\nThe first store is unchanged.\n`,
          );
        } catch (error) {
          if (!signal.aborted) throw error;
          progress.clear();
          context.exitCode = ERRORS.TURN_INTERRUPTED.exitCode;
          await terminal.stderr.write("Stopped. Run the same command again to go on.\n");
        } finally {
          progress.clear();
        }
      }),
    );
}
