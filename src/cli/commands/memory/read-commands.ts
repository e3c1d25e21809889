import { lstatSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import type { SearchScope } from "../../../config/settings.ts";
import { errorText, SessionError } from "../../../core/errors.ts";
import { given } from "../../../core/fields.ts";
import type { ShownEntry } from "../../../core/memory-store.ts";
import type { OpenMemory } from "../../../core/operations/memory.ts";
import { sourcesView } from "../../../core/operations/sources.ts";
import type { SessionService } from "../../../core/session-service.ts";
import { toWire } from "../../../core/wire.ts";
import { inWorkFolder } from "../../../files/new-file.ts";
import { shellWord } from "../../../text/quoting.ts";
import type { CliContext } from "../../cli-context.ts";
import { plural, thousands } from "../../render/amounts.ts";
import { renderSources } from "../../render/render-history.ts";
import {
  memoryJson,
  renderLag,
  renderMemoryEntries,
  renderMemoryStats,
} from "../../render/render-memory.ts";
import { styleFor } from "../../render/style.ts";
import { jsonText, printJson, printPlaces, printText, roomIn } from "../../terminal/print.ts";
import { longWork } from "../../terminal/progress-line.ts";
import { findExisting } from "../find-session.ts";
import {
  addFilterFlags,
  addSourceFlags,
  countFlag,
  type FilterFlags,
  type Filters,
  listFlag,
  SESSION_ARGUMENT,
  scopeFlag,
} from "../flags.ts";
import { withService } from "../with-service.ts";
import { withFilteredMemory } from "./search-command.ts";

interface ListFlags extends FilterFlags {
  readonly id?: readonly string[];
  readonly scope: SearchScope;
  readonly limit: number;
  readonly after?: string;
  readonly marked?: true;
  readonly json?: true;
}

/** `rkat memory list`. */
export function listCommand(memory: Command, context: CliContext): void {
  const { stdout, stderr, env } = context.terminal;
  const list = memory
    .command("list")
    .description("the entries of memory, oldest first")
    .option("-n, --limit <n>", "limit of entries", countFlag(1000, 1), 20)
    .option("--after <id>", "continue the list after this entry")
    .option("--id <id>", "only this entry (repeatable)", listFlag)
    .option("--marked", "only entries that are pinned, were edited, or are kept beside others")
    .addOption(scopeFlag("list this project, the user-wide store ~/.rkat, or both").default("all"))
    .option("--json", "for scripts");
  addFilterFlags(list).action(async ({ limit, after, id, marked, json, ...flags }: ListFlags) => {
    await withFilteredMemory(context, list, flags, async (operations, filters) => {
      const which = given({ after, marked, id: id && [...id] });
      const entries = await operations.listMemory({ limit, ...filters, ...which });
      if (entries.length === 0 && filters.asOf === undefined) await requireEntry(operations, after);
      if (json) return await printJson(stdout, memoryJson(entries));
      if (entries.length === 0) return await stderr.write("No matching entries.\n");
      await printPlaces(stdout, renderMemoryEntries(entries, styleFor(stdout, env)));
      const last = entries.at(-1);
      if (last && entries.length === limit) {
        await stderr.write(`For more: --after ${shellWord(last.id)}\n`);
      }
    });
  });
}

/** After an entry that is not there, such as one that was forgotten between two pages, nothing comes: that is no end of a list. */
async function requireEntry(operations: OpenMemory, id: string | undefined): Promise<void> {
  if (id === undefined || (await operations.listMemory({ id: [id], limit: 1 })).length > 0) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `Memory has no entry with the id "${id}".`,
    hint: "`rkat memory list` shows the ids.",
  });
}

/** `rkat memory stats`. */
export function statsCommand(memory: Command, context: CliContext): void {
  const { stdout, stderr, env } = context.terminal;
  const stats = memory
    .command("stats")
    .description("how much is in memory")
    .option("--session <session>", `only this session: ${SESSION_ARGUMENT}`)
    .addOption(scopeFlag("count this project, the user-wide store ~/.rkat, or both").default("all"))
    .option("--json", "for scripts");
  addSourceFlags(stats).action(async ({ json, ...flags }: StatsFlags) => {
    await withFilteredMemory(context, stats, flags, async (operations, filters) => {
      const found = await operations.memoryStats(filters);
      await printText(stderr, renderLag(found.behind, context.rkat));
      if (json) return await printJson(stdout, memoryJson(found));
      await stdout.write(renderMemoryStats(found, styleFor(stdout, env)));
    });
  });
}

type StatsFlags = Pick<ListFlags, "session" | "agent" | "project" | "branch" | "scope" | "json">;

interface ExportFlags extends FilterFlags {
  readonly scope?: SearchScope;
  readonly jsonl?: string;
}

/** `rkat memory export`: writes memory in the format that `rkat memory add --jsonl` reads. */
export function exportCommand(memory: Command, context: CliContext): void {
  const { terminal } = context;
  const exports = memory
    .command("export")
    .description("write memory as JSON Lines, which `rkat memory add --jsonl` reads")
    .option("--jsonl <file>", "write to this file, all or nothing (default: stdout)")
    .addOption(scopeFlag("write this project, the user-wide store ~/.rkat, or both"));
  addFilterFlags(exports).action(async ({ jsonl, ...flags }: ExportFlags) => {
    await withFilteredMemory(context, exports, flags, async (operations, filters) => {
      if (jsonl === undefined || jsonl === "-") {
        for await (const text of linesOf(operations, filters)) await terminal.stdout.write(text);
        return;
      }
      await longWork(context, "Nothing was written.", async (progress, signal) => {
        let written = 0;
        const counted = async function* () {
          for await (const text of linesOf(operations, filters)) {
            yield text;
            written += text.split("\n").length - 1;
            progress.show(`writing: ${thousands(written)} entries`);
          }
        };
        await writeWhole(jsonl, { cwd: terminal.cwd, signal }, counted());
        progress.clear();
        await terminal.stderr.write(`Wrote ${plural(written, "entry", "entries")} to ${jsonl}.\n`);
      });
    });
  });
}

/** The number of entries that are held in memory at once. */
const PAGE = 200;

/** The lines of one page at a time. */
async function* linesOf(memory: OpenMemory, filters: Filters): AsyncIterable<string> {
  for (let last: ShownEntry | undefined; ; ) {
    const after = given({ after: last?.id });
    const page = await memory.listMemory({ ...filters, limit: PAGE, ...after });
    last = page.at(-1);
    if (!last) return;
    yield page.map(({ store: _, ...entry }) => `${jsonText(memoryJson(entry))}\n`).join("");
  }
}

/** Writes a private file, all or nothing. Replaces a file of this name. */
async function writeWhole(
  file: string,
  { cwd, signal }: { readonly cwd: string; readonly signal: AbortSignal },
  texts: AsyncIterable<string>,
): Promise<void> {
  const path = resolve(cwd, file);
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found && !found.isFile()) throw new Error("it is not a regular file");
    await inWorkFolder(path, async (folder) => {
      const unseen = join(folder, "whole");
      const handle = await open(unseen, "wx", 0o600);
      try {
        for await (const text of texts) {
          signal.throwIfAborted();
          await handle.writeFile(text);
        }
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(unseen, path);
    });
  } catch (cause) {
    if (SessionError.is(cause) || signal.aborted) throw cause;
    throw new SessionError("INVALID_PARAMS", {
      message: `Cannot write ${file}: ${errorText(cause)}.`,
      hint: "Name a file in a folder that you may write to.",
      cause,
    });
  }
}

interface SourcesFlags {
  readonly session?: string;
  readonly event?: number;
  readonly limit?: number;
  readonly offset?: number;
  readonly scope: SearchScope;
  readonly json?: true;
}

const number = countFlag(Number.MAX_SAFE_INTEGER);

/** `rkat memory sources`. */
export function sourcesCommand(memory: Command, context: CliContext): void {
  const { terminal } = context;
  const command = memory
    .command("sources")
    .description("the messages that an entry, a rule, or the summary of a compaction rests on")
    .argument("[id]", "of an entry of memory, a fact, a correction, a preference or a rule")
    .option("--session <session>", `of the last summary of a session: ${SESSION_ARGUMENT}`)
    .option("--event <seq>", "of the summary of this compaction", number)
    .option("-n, --limit <n>", "limit of messages", countFlag(1000))
    .option("--offset <n>", "without the first ones", number)
    .addOption(
      scopeFlag("look in this project, the user-wide store ~/.rkat, or both").default("all"),
    )
    .option("--json", "for scripts")
    .action((id: string | undefined, { session, scope, json, ...flags }: SourcesFlags) => {
      const print = async (service: SessionService) => {
        if ((id === undefined) === (session === undefined)) throw eitherOne();
        const found = session === undefined ? session : await findExisting(service, session);
        const { event, limit, offset } = flags;
        const which = given({ id, sessionId: found, event, limit, offset });
        const view = await service.readSources(which);
        if (json) return await printJson(terminal.stdout, toWire(sourcesView, view));
        const style = styleFor(terminal.stdout, terminal.env);
        await terminal.stdout.write(renderSources(view, style, roomIn(terminal.stdout)));
      };
      return withService(context, command, print, { scope });
    });
}

function eitherOne(): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: "Give an id, or --session, and not both.",
  });
}
