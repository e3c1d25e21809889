import { resolve } from "node:path";
import { Writable } from "node:stream";
import { type Command, Option } from "commander";
import { type BackupProgress, backUp } from "../../app/back-up.ts";
import {
  type ExportCounts,
  exportProject,
  importExport,
  printProject,
} from "../../app/export-project.ts";
import { moveStore } from "../../app/open-stores.ts";
import { type CompareReport, compareBackup, restoreBackup } from "../../app/restore.ts";
import type { SearchScope } from "../../config/settings.ts";
import type { Workspace } from "../../config/workspace.ts";
import { SessionError, withoutPassword } from "../../core/errors.ts";
import type { CliContext } from "../cli-context.ts";
import { plural, thousands } from "../render/amounts.ts";
import { printable } from "../render/printable.ts";
import { fileSize } from "../render/render-import.ts";
import { printJson, printText } from "../terminal/print.ts";
import { longWork } from "../terminal/progress-line.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { scopeFlag } from "./flags.ts";
import { workspaceOf, workspaceToFill } from "./with-service.ts";

interface BackupFlags {
  readonly scope: SearchScope;
  readonly force?: true;
  readonly json?: true;
}

interface ExportFlags {
  readonly redact?: true;
  readonly scope: "project" | "user";
  readonly force?: true;
  readonly json?: true;
}

interface RestoreFlags {
  readonly scope: SearchScope;
  readonly compare?: true;
  readonly trust?: true;
  readonly json?: true;
}

/** `rkat backup`: all of a store in one file, while others write. */
export function backupCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const command = program
    .command("backup")
    .argument("<file>", "the file to write")
    .addOption(scopeFlag("which stores").default("all"))
    .option("--force", "replace the file if it is there")
    .option("--json", "for scripts")
    .action((file: string, { scope, force, json }: BackupFlags) =>
      watched(context, "No backup was written.", async (watch) => {
        if (file === "-") throw notPrinted();
        const workspace = await workspaceOf(context, command);
        const path = resolve(terminal.cwd, file);
        const report = await backUp(workspace, {
          file: path,
          scope,
          force: force ?? false,
          ...watch,
        });
        watch.done();
        if (json) return await printJson(terminal.stdout, report);
        const lines = report.stores.map(({ place }) => `  ${place}`);
        await printText(
          terminal.stdout,
          `Wrote ${report.file} (${fileSize(report.bytes)}), and checked it. It has:\n${lines.join("\n")}\n`,
        );
      }),
    );
}

function notPrinted(): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: "A backup is a file that is read again and checked, so it cannot be printed.",
    hint: "Name a file. `rkat export -` prints a project as JSON Lines.",
  });
}

/** `rkat restore`: a backup where nothing is, or how it differs from what is there. */
export function restoreCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const command = program
    .command("restore")
    .argument("<file>", "a file that `rkat backup` wrote")
    .addOption(scopeFlag("which stores").default("all"))
    .option("--compare", "say how the stores differ from the backup, and change nothing")
    .option("--trust", "use a backup that was not written by you on this machine")
    .option("--json", "for scripts")
    .action((file: string, { scope, compare, trust, json }: RestoreFlags) =>
      watched(context, "The same command goes on or starts again.", async (watch) => {
        const workspace = await (compare ? workspaceOf : workspaceToFill)(context, command);
        const work = { file: resolve(terminal.cwd, file), scope, ...watch };
        if (compare)
          return await showDifferences(context, await compareBackup(workspace, work), json);
        const report = await restoreBackup(workspace, { ...work, isTrusted: trust ?? false });
        watch.done();
        if (json) return await printJson(terminal.stdout, report);
        const lines = report.stores.map(({ place }) => `  ${place}`);
        await printText(
          terminal.stdout,
          `Restored the backup of ${report.made_at}:\n${lines.join("\n")}\n`,
        );
      }),
    );
}

/** `rkat export`: all of a project as JSON Lines. */
export function exportCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const command = program
    .command("export")
    .argument("<file>", "the file to write, or - for standard output")
    .option("--redact", "replace credentials")
    .addOption(
      new Option("--scope <scope>", "this project, or the user-wide store")
        .choices(["project", "user"] satisfies readonly SearchScope[])
        .default("project"),
    )
    .option("--force", "replace the file if it is there")
    .option("--json", "for scripts")
    .action((file: string, { redact, scope, force, json }: ExportFlags) =>
      watched(context, "Nothing was written.", async ({ done, ...watch }) => {
        const workspace = await workspaceOf(context, command, scope);
        const how = { force: force ?? false, redact: redact ?? false, ...watch };
        const isPrinted = file === "-";
        const report = isPrinted
          ? await printProject(workspace, { ...how, output: printedTo(terminal) })
          : await exportProject(workspace, { ...how, file: resolve(terminal.cwd, file) });
        done();
        const output = isPrinted ? terminal.stderr : terminal.stdout;
        if (json) return await printJson(output, report);
        await printText(
          output,
          `Wrote ${report.file} (${fileSize(report.bytes)}): ${countsText(report)}.\n`,
        );
      }),
    );
}

/** A pipe gets the bytes as they are: a signature stands over them. A terminal would obey some of them. */
function printedTo(terminal: Terminal): Writable {
  if (!terminal.stdout.isTerminal) return terminal.takeStreams().output;
  return new Writable({
    decodeStrings: false,
    write: (text: string, _, done) => void terminal.stdout.write(text).then(() => done(), done),
  });
}

interface ImportFlags {
  readonly trust?: true;
  readonly dryRun?: true;
  readonly json?: true;
}

/** `rkat import FILE` of an export of rkat. */
export async function importExportInto(
  workspace: Workspace,
  file: string,
  { trust, dryRun, json }: ImportFlags,
  context: CliContext,
): Promise<void> {
  const { stdout } = context.terminal;
  const stopped = "Import again to go on: what is there is not added twice.";
  await watched(context, stopped, async ({ done, ...watch }) => {
    const report = await importExport(workspace, {
      file,
      isTrusted: trust ?? false,
      isTrial: dryRun ?? false,
      ...watch,
    });
    done();
    if (json) return await printJson(stdout, report);
    const what =
      report.place === undefined
        ? "Nothing was imported, it was only read"
        : `Everything is in ${report.place}`;
    await printText(stdout, `${what}: ${countsText(report)}.\n`);
  });
}

function countsText({ sessions, events, memories, knowledge, users }: ExportCounts): string {
  return [
    plural(sessions, "session"),
    plural(events, "event"),
    plural(memories, "memory entry", "memory entries"),
    plural(knowledge, "knowledge entry", "knowledge entries"),
    plural(users, "user"),
  ].join(", ");
}

async function showDifferences(
  context: CliContext,
  report: CompareReport,
  json: true | undefined,
): Promise<void> {
  const { stdout } = context.terminal;
  if (!report.same) context.exitCode = 1;
  if (json) await printJson(stdout, report);
  else await printText(stdout, renderDifferences(report));
}

/** Shows how far long work is, and says so when a person stops it. */
async function watched(
  context: CliContext,
  stopped: string,
  work: (watch: {
    readonly signal: AbortSignal;
    readonly onProgress: (progress: BackupProgress) => void;
    readonly done: () => void;
  }) => Promise<void>,
): Promise<void> {
  await longWork(context, stopped, (line, signal) =>
    work({
      signal,
      onProgress: ({ step, done }) => line.show(progressText(step, done)),
      done: () => line.clear(),
    }),
  );
}

function progressText(step: BackupProgress["step"], done: number): string {
  if (done === 0) return step;
  const isBytes = step === "reading" || step === "writing";
  return `${step}: ${isBytes ? fileSize(done) : thousands(done)}`;
}

/** Sessions that are named one by one; of more, the number is said. */
const NAMED_MAX = 10;

const SESSIONS = {
  only_in_backup: "only in the backup",
  only_here: "only here",
  longer_here: "went on here",
  longer_in_backup: "longer in the backup",
  different: "different",
} as const;

const ENTRIES = {
  only_in_backup: "only in the backup",
  only_here: "only here",
  different: "different",
} as const;

/** How stores differ from a backup, in words. */
function renderDifferences({ same, made_at, differences }: CompareReport): string {
  if (same) return `Everything is as in the backup of ${printable(made_at)}.\n`;
  const lines = [`Compared with the backup of ${printable(made_at)}:`];
  for (const found of differences) {
    const { store, user, same_sessions, memory, knowledge } = found;
    const name = store === "user" ? "the user-wide store" : "the project";
    lines.push(
      "",
      user === undefined ? `In ${name}:` : `In ${name}, of the user ${printable(user)}:`,
    );
    lines.push(`  ${plural(same_sessions, "session")} the same`);
    for (const [kind, words] of Object.entries(SESSIONS)) {
      const ids = found[kind as keyof typeof SESSIONS];
      if (ids.length === 0) continue;
      lines.push(`  ${plural(ids.length, "session")} ${words}: ${named(ids)}`);
    }
    lines.push(...entryLines("memory", "memory entry", memory));
    lines.push(...entryLines("knowledge", "knowledge entry", knowledge));
  }
  return `${lines.join("\n")}\n`;
}

function named(ids: readonly string[]): string {
  const shown = ids.slice(0, NAMED_MAX).map((id) => printable(id));
  return ids.length > NAMED_MAX ? `${shown.join(", ")} …` : shown.join(", ");
}

function entryLines(
  kind: "memory" | "knowledge",
  one: string,
  counts: CompareReport["differences"][number][typeof kind],
): readonly string[] {
  return Object.entries(ENTRIES).flatMap(([name, words]) => {
    const count = counts[name as keyof typeof ENTRIES];
    if (count === 0) return [];
    return [`  ${plural(count, one, `${kind} entries`)} ${words}`];
  });
}

interface MoveFlags {
  readonly to: string;
  readonly from?: string;
  readonly trust?: true;
  readonly json?: true;
}

/** `rkat move`: copies everything of one store into another. */
export function moveCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const command = program
    .command("move")
    .requiredOption("--to <store>", "postgres://user@host/database, or a SQLite file")
    .option("--from <store>", "the store to copy (default: the one that the project uses)")
    .option("--trust", "use a file that was not made by you on this machine")
    .option("--json", "for scripts")
    .action(({ to, from, trust, json }: MoveFlags) =>
      longWork(context, "Run the same command again to go on.", async (progress, signal) => {
        const workspace = await workspaceOf(context, command);
        progress.show("moving");
        const report = await moveStore(workspace, {
          to,
          ...(from === undefined ? {} : { from }),
          isTrusted: trust ?? false,
          signal,
          onProgress: (done) => progress.show(`moving: ${thousands(done)} compared`),
        });
        progress.clear();
        const there = placeOf(to, terminal.cwd);
        if (json) return await printJson(terminal.stdout, { ...report, to: there });
        const parts = [
          plural(report.sessions, "session"),
          plural(report.events, "event"),
          plural(report.memories, "memory entry", "memory entries"),
          plural(report.knowledge, "knowledge entry", "knowledge entries"),
          plural(report.deleted, "deleted session"),
          plural(report.users, "user"),
        ];
        await terminal.stdout.write(
          `Both stores have the same: ${parts.join(", ")}.\nThe second store is ${printable(there)}. The first one is unchanged.\n`,
        );
      }),
    );
}

/** A path names a file of the folder that the command runs in, whatever --dir says. */
function placeOf(store: string, cwd: string): string {
  return store.includes("://") ? withoutPassword(store) : resolve(cwd, store);
}
