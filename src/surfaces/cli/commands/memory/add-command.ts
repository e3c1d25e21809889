import type { Command } from "commander";
import type { MemoryEntry } from "../../../../core/memory-store.ts";
import type { MemoryOperations } from "../../../../core/session-service.ts";
import type { CliContext } from "../../cli-context.ts";
import { plural, thousands } from "../../render/amounts.ts";
import { readJsonLines, rereadable } from "../../terminal/input-file.ts";
import { printJson } from "../../terminal/print.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { withMemory } from "../with-service.ts";
import { checkMemoryLine, MEMORY_LINE, type MemoryLine, MemoryLineIds } from "./memory-line.ts";

/** The limits of one transaction. */
const BATCH = { entries: 5_000, characters: 8 * 1024 * 1024 } as const;

/** `rkat memory add`: stores all texts of a file, or none. */
export function addCommand(memory: Command, context: CliContext): void {
  const { terminal } = context;
  const add = memory
    .command("add")
    .description("store texts, so that searches find them; existing entries do not change")
    .requiredOption("--jsonl <file>", `one ${MEMORY_LINE} per line; - for stdin`)
    .option("--json", "for scripts")
    .action(async ({ jsonl, json }: { jsonl: string; json?: true }) => {
      const progress = new ProgressLine(terminal.stderr);
      const source = await rereadable(jsonl, terminal);
      try {
        const lines = () => readJsonLines(source.file, source, checkMemoryLine);
        progress.show(`checking ${jsonl}`);
        for await (const _ of lines());
        await withMemory(
          context,
          add,
          async (operations) => {
            const counts = await addAll(lines(), operations, progress);
            progress.clear();
            if (json) await printJson(terminal.stdout, counts);
            else await terminal.stdout.write(sentence(counts));
          },
          { access: "create" },
        );
      } finally {
        progress.clear();
        await source.close();
      }
    });
}

interface Counts {
  readonly added: number;
  readonly already_there: number;
  /** Lines without text. Nothing could find them. */
  readonly blank: number;
}

async function addAll(
  lines: AsyncIterable<MemoryLine>,
  memory: Pick<MemoryOperations, "add">,
  progress: ProgressLine,
): Promise<Counts> {
  const ids = new MemoryLineIds();
  let batch: MemoryEntry[] = [];
  let characters = 0;
  let read = 0;
  let added = 0;
  let blank = 0;
  const flush = async () => {
    added += await memory.add(batch);
    batch = [];
    characters = 0;
    progress.show(`adding: ${thousands(read)} lines`);
  };
  for await (const line of lines) {
    read += 1;
    if (line.content.trim() === "") {
      blank += 1;
      continue;
    }
    batch.push(ids.entryOf(line));
    characters += line.content.length;
    if (batch.length >= BATCH.entries || characters >= BATCH.characters) await flush();
  }
  if (batch.length > 0) await flush();
  return { added, already_there: read - added - blank, blank };
}

function sentence({ added, already_there, blank }: Counts): string {
  const parts = [`Added ${plural(added, "entry", "entries")}`];
  if (already_there > 0) parts.push(`${thousands(already_there)} existed already`);
  if (blank > 0) parts.push(`${thousands(blank)} had no text`);
  return `${parts.join("; ")}.\n`;
}
