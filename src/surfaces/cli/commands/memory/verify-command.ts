import type { Command } from "commander";
import { ERRORS } from "../../../../core/errors.ts";
import type { CliContext } from "../../cli-context.ts";
import { plural } from "../../render/plural.ts";
import { printable } from "../../render/printable.ts";
import { printJson } from "../../terminal/print-json.ts";
import { watchMemory } from "./watch-memory.ts";

/** `rkat memory verify`, for who runs the store. */
export function memoryVerifyCommand(memory: Command, context: CliContext): void {
  const { stdout } = context.terminal;
  const verify = memory
    .command("verify")
    .description("compare the index with the entries; fails when something is wrong")
    .option("--json", "for scripts")
    .action(({ json }: { json?: true }) =>
      watchMemory(context, verify, "checking", async (store, watch) => {
        const { entries, problems } = await store.verify(watch);
        if (problems.length > 0) context.exitCode = ERRORS.SESSION_STORE_ERROR.exitCode;
        if (json) return () => printJson(stdout, { entries, problems });
        const found = problems.map((problem) => `${printable(problem)}\n`).join("");
        const end =
          problems.length === 0
            ? `${plural(entries, "entry", "entries")}, and the index is as it should be.\n`
            : `Of ${plural(entries, "entry", "entries")}; \`rkat memory reindex\` builds the index anew.\n`;
        return () => stdout.write(found + end);
      }),
    );
}
