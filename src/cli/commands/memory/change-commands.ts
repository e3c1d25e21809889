import { createHash } from "node:crypto";
import type { Command } from "commander";
import { SessionError } from "../../../core/errors.ts";
import { given } from "../../../core/fields.ts";
import {
  MEMORY_KINDS,
  type MemoryEntry,
  type MemoryKind,
  type ShownEntry,
} from "../../../core/memory-store.ts";
import type { OpenMemory } from "../../../core/operations/memory.ts";
import type { CliContext } from "../../cli-context.ts";
import { plural, thousands } from "../../render/amounts.ts";
import { memoryJson, renderMemoryEntries } from "../../render/render-memory.ts";
import { styleFor } from "../../render/style.ts";
import { type Checked, readJsonLines, rereadable } from "../../terminal/input-file.ts";
import { printJson } from "../../terminal/print.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { withMemory, withService } from "../with-service.ts";

/** The limits of one transaction. */
const BATCH = { entries: 5_000, characters: 8 * 1024 * 1024 } as const;

/** `rkat memory add`: stores a text, or all texts of a file. */
export function addCommand(memory: Command, context: CliContext): void {
  const { terminal } = context;
  const add = memory
    .command("add")
    .description("store texts, so that searches find them; existing entries do not change")
    .argument("[text...]", "what to remember")
    .option("--jsonl <file>", `many texts: one ${MEMORY_LINE} per line; - for stdin`)
    .option("--json", "for scripts")
    .action(async (words: string[], { jsonl, json }: { jsonl?: string; json?: true }) => {
      if (jsonl === undefined) return await addText(words.join(" "), json);
      if (words.length > 0) throw oneOrTheOther();
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

  async function addText(content: string, json?: true): Promise<void> {
    if (content === "") throw oneOrTheOther();
    const [{ parseRequest }, { addMemory }] = await Promise.all([
      import("../../../core/operations/operation.ts"),
      import("../../../core/operations/memory.ts"),
    ]);
    const request = parseRequest(addMemory, { content });
    const work = async (operations: OpenMemory) => {
      const done = await operations.addMemory(request);
      if (json) await printJson(terminal.stdout, done);
      else
        await terminal.stdout.write(done.added ? `Added ${done.id}.\n` : "It is there already.\n");
    };
    await withMemory(context, add, work, { access: "create" });
  }
}

function oneOrTheOther(): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: "Give either a text or --jsonl FILE.",
    hint: 'For example: `rkat memory add "The staging port is 4310."`',
  });
}

interface Counts {
  readonly added: number;
  readonly already_there: number;
  /** Lines without text. Nothing could find them. */
  readonly blank: number;
  /** Credentials that were replaced, by kind. */
  readonly redacted: Readonly<Record<string, number>>;
}

async function addAll(
  lines: AsyncIterable<MemoryLine>,
  memory: Pick<OpenMemory, "addEntries">,
  progress: ProgressLine,
): Promise<Counts> {
  const ids = new MemoryLineIds();
  let batch: MemoryEntry[] = [];
  let characters = 0;
  let read = 0;
  let added = 0;
  let blank = 0;
  const redacted: Record<string, number> = {};
  const flush = async () => {
    const done = await memory.addEntries(batch);
    added += done.added;
    for (const [kind, count] of Object.entries(done.redacted)) {
      redacted[kind] = (redacted[kind] ?? 0) + count;
    }
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
  return { added, already_there: read - added - blank, blank, redacted };
}

function sentence({ added, already_there, blank, redacted }: Counts): string {
  const parts = [`Added ${plural(added, "entry", "entries")}`];
  if (already_there > 0) parts.push(`${thousands(already_there)} existed already`);
  if (blank > 0) parts.push(`${thousands(blank)} had no text`);
  const secrets = Object.entries(redacted).map(([kind, count]) => `${kind} ${thousands(count)}`);
  const replaced = secrets.length > 0 ? `Replaced credentials: ${secrets.join(", ")}.\n` : "";
  return `${parts.join("; ")}.\n${replaced}`;
}

const NAME_LENGTH_MAX = 200;
const ISO_8601 =
  /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?)?$/;

/** A line of `rkat memory add --jsonl`. Its id is optional. */
type MemoryLine = Omit<MemoryEntry, "id"> & { readonly id?: string };

/** Checks a line. `MEMORY_LINE` shows its fields. */
function checkMemoryLine(json: unknown): Checked<MemoryLine> {
  const line = json as Readonly<Record<string, unknown>>;
  const problem = Object.entries(FIELDS).find(([name, { optional, good }]) =>
    isAbsent(line[name]) ? optional !== true : !good(line[name]),
  );
  if (problem) return { problem: `has a bad "${problem[0]}": it must be ${problem[1].allowed}` };
  const { content, session_id: sessionId, turn, kind, time, id, role, speaker, source } = line;
  const optional = Object.entries({ kind, time, id, role, speaker, source }).filter(
    ([, value]) => !isAbsent(value),
  );
  const known = { content, sessionId, turn: turn ?? null, kind: "message" };
  const entry = { ...known, ...Object.fromEntries(optional) };
  return { value: entry as MemoryLine };
}

const MEMORY_LINE =
  '{"content", "session_id", "turn"?, "time"?, "id"?, "role"?, "speaker"?, "kind"?, "source"?}';

interface Field {
  readonly allowed: string;
  readonly optional?: true;
  good(value: unknown): boolean;
}

const FIELDS: Readonly<Record<string, Field>> = {
  content: { allowed: "a text", good: (value) => typeof value === "string" },
  session_id: { allowed: "a text of 1 to 200 characters", good: isName },
  turn: {
    allowed: "a whole number, 0 or more",
    optional: true,
    good: isCount,
  },
  kind: {
    allowed: `one of ${MEMORY_KINDS.join(", ")}`,
    optional: true,
    good: (value) => MEMORY_KINDS.includes(value as MemoryKind),
  },
  time: { allowed: "a time in ISO 8601", optional: true, good: isTime },
  id: { allowed: "a text of 1 to 200 characters", optional: true, good: isName },
  role: { allowed: "a text of 1 to 200 characters", optional: true, good: isName },
  speaker: { allowed: "a text of 1 to 200 characters", optional: true, good: isName },
  source: {
    allowed: 'the range of events in a log, {"from", "to"}',
    optional: true,
    good: isSource,
  },
};

function isSource(value: unknown): boolean {
  const { from, to } = value as Readonly<Record<string, unknown>>;
  return isCount(from) && isCount(to) && Number(from) <= Number(to);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Many programs write null for an unknown value. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value !== "" && [...value].length <= NAME_LENGTH_MAX;
}

function isTime(value: unknown): boolean {
  return (
    typeof value === "string" &&
    ISO_8601.test(value) &&
    !Number.isNaN(Date.parse(value)) &&
    isDay(value.slice(0, 10))
  );
}

/** `Date.parse` takes 2026-02-30 for the 2nd of March. */
function isDay(day: string): boolean {
  return new Date(day).toISOString().startsWith(day);
}

/**
 * Gives ids to lines that have none. The same file gives the same ids, so adding
 * it again adds nothing. A line that occurs twice in a file gets two ids.
 */
class MemoryLineIds {
  readonly #seen = new Map<string, number>();

  entryOf(line: MemoryLine): MemoryEntry {
    if (line.id !== undefined) return { ...line, id: line.id };
    const { content, sessionId, turn } = line;
    const said = digest([sessionId, turn, content]);
    const ordinal = this.#seen.get(said) ?? 0;
    this.#seen.set(said, ordinal + 1);
    return { ...line, id: ordinal === 0 ? `line:${said}` : `line:${said}:${ordinal}` };
  }
}

function digest(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 27);
}

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

/** `rkat memory keep-both`. */
export function keepBothCommand(memory: Command, context: CliContext): void {
  const keepBoth = memory
    .command("keep-both")
    .description("say that neither of two entries replaces the other: both hold")
    .argument("<id>", "as in `rkat memory search`; also what the project learned")
    .argument("<other>", "the other one, in any order")
    .option("--undo", "take that back: what they say decides again")
    .option("--json", "for scripts")
    .action((id: string, other: string, { undo, json }: { undo?: true; json?: true }) =>
      withService(context, keepBoth, async (service) => {
        const entry = await service.keepBoth({ ids: [id, other], ...given({ undo }) });
        await show(context, undo ? "Taken back" : "Both are kept", entry, json);
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
