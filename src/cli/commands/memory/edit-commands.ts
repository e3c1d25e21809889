import type { Command } from "commander";
import type { ShownEntry } from "../../../core/memory-store.ts";
import type { CliContext } from "../../cli-context.ts";
import { memoryJson, renderMemoryEntries } from "../../render/render-memory.ts";
import { styleFor } from "../../render/style.ts";
import { printJson } from "../../terminal/print.ts";
import { withService } from "../with-service.ts";

const ID = "as in `rkat memory list`; what was added by hand";

/** `rkat memory edit`. */
export function editCommand(memory: Command, context: CliContext): void {
  const edit = memory
    .command("edit")
    .description("correct a text that was added by hand; the entry says what it said before")
    .argument("<id>", ID)
    .argument("<text...>", "the new text")
    .option("--json", "for scripts")
    .action((id: string, words: string[], { json }: { json?: true }) =>
      withService(context, edit, async (service) => {
        const entry = await service.editMemory({ id, content: words.join(" ") });
        await show(context, "Changed", entry, json);
      }),
    );
}

/** `rkat memory pin`. */
export function pinCommand(memory: Command, context: CliContext): void {
  marking(memory, context, true);
}

/** `rkat memory unpin`. */
export function unpinCommand(memory: Command, context: CliContext): void {
  marking(memory, context, false);
}

function marking(memory: Command, context: CliContext, pinned: boolean): void {
  const pin = memory
    .command(pinned ? "pin" : "unpin")
    .description(
      pinned
        ? "let each session begin with a text that was added by hand"
        : "let it come back only where it is asked for",
    )
    .argument("<id>", ID)
    .option("--json", "for scripts")
    .action((id: string, { json }: { json?: true }) =>
      withService(context, pin, async (service) => {
        const entry = await service.editMemory({ id, pinned });
        await show(context, pinned ? "Pinned" : "Unpinned", entry, json);
      }),
    );
}

async function show(
  { terminal: { stdout, env } }: CliContext,
  done: string,
  entry: ShownEntry,
  json: true | undefined,
): Promise<void> {
  if (json) return await printJson(stdout, memoryJson(entry));
  await stdout.write(`${done}:\n${renderMemoryEntries([entry], styleFor(stdout, env))}`);
}
