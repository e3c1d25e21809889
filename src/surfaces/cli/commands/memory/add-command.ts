import type { Command } from "commander";
import type { MemoryEntry, MemoryStore } from "../../../../core/memory-store.ts";
import type { CliContext } from "../../cli-context.ts";
import { thousands } from "../../render/thousands.ts";
import { printJson } from "../../terminal/print-json.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { readJsonLines } from "../../terminal/read-json-lines.ts";
import { rereadable } from "../../terminal/rereadable.ts";
import { checkMemoryLine, MEMORY_LINE, type MemoryLine } from "./memory-line.ts";
import { withMemory } from "./with-memory.ts";

/** What one transaction holds at the most. */
const BATCH = { entries: 5_000, characters: 8 * 1024 * 1024 } as const;

/** `rkat memory add`: stores a file of texts, or none of it. */
export function memoryAddCommand(memory: Command, context: CliContext): void {
  const { terminal } = context;
  const add = memory
    .command("add")
    .description("store texts, so that they can be found; what is there already stays as it is")
    .requiredOption("--jsonl <file>", `one ${MEMORY_LINE} a line; - for stdin`)
    .option("--json", "for scripts")
    .action(async ({ jsonl, json }: { jsonl: string; json?: true }) => {
      const progress = new ProgressLine(terminal.stderr);
      const source = await rereadable(jsonl, terminal);
      try {
        const lines = () => readJsonLines(source.file, source, checkMemoryLine);
        progress.show(`checking ${jsonl}`);
        for await (const _ of lines());
        const store = async (memory: MemoryStore) => {
          const counts = await addAll(lines(), memory, progress);
          progress.clear();
          if (json) await printJson(terminal.stdout, counts);
          else await terminal.stdout.write(sentence(counts));
        };
        await withMemory(context, add, store, "create");
      } finally {
        progress.clear();
        await source.close();
      }
    });
}

interface Counts {
  readonly added: number;
  readonly already_there: number;
  /** Lines without text: nothing to find them by. */
  readonly blank: number;
}

async function addAll(
  lines: AsyncIterable<MemoryLine>,
  store: Pick<MemoryStore, "add">,
  progress: ProgressLine,
): Promise<Counts> {
  // Late, because a search that registers this command does not wait for Node's crypto.
  const { MemoryLineIds } = await import("./memory-line-ids.ts");
  const ids = new MemoryLineIds();
  let batch: MemoryEntry[] = [];
  let characters = 0;
  let read = 0;
  let added = 0;
  let blank = 0;
  const flush = async () => {
    added += await store.add(batch);
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
  const parts = [`Added ${thousands(added)} ${added === 1 ? "entry" : "entries"}`];
  if (already_there > 0) parts.push(`${thousands(already_there)} were there already`);
  if (blank > 0) parts.push(`${thousands(blank)} had no text`);
  return `${parts.join("; ")}.\n`;
}
