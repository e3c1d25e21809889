import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Command, Option } from "commander";
import { type Importer, openImport } from "../../app/open-import.ts";
import { useOpened } from "../../app/opened.ts";
import type { SearchScope } from "../../config/settings.ts";
import type { Workspace } from "../../config/workspace.ts";
import { ERRORS, SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import { systemHome } from "../../files/make-folders.ts";
import { type FoundTranscripts, findTranscripts } from "../../import/find-transcripts.ts";
import { nearestName } from "../../text/nearest-name.ts";
import { shellWord } from "../../text/quoting.ts";
import { IMPORT_FORMATS } from "../../transcripts/import-formats.ts";
import { AGENTS, type AgentName, type Machine } from "../../transcripts/imported.ts";
import type { CliContext } from "../cli-context.ts";
import { plural, thousands } from "../render/amounts.ts";
import {
  fileSize,
  importJson,
  renderFound,
  renderImport,
  renderNews,
} from "../render/render-import.ts";
import { styleFor } from "../render/style.ts";
import { confirm } from "../terminal/ask.ts";
import { printJson, printText } from "../terminal/print.ts";
import { ProgressLine, sayStopped } from "../terminal/progress-line.ts";
import { filtersOf, folderFlag, timeOf } from "./flags.ts";
import { workspaceToFill } from "./with-service.ts";

interface ImportFlags {
  readonly scope?: SearchScope;
  readonly since?: string;
  readonly project?: string;
  readonly subagents?: true;
  readonly dryRun?: true;
  readonly watch?: true;
  readonly trust?: true;
  readonly yes?: true;
  readonly json?: true;
}

/** The interval at which `--watch` looks at the files. */
const WATCH_MS = 2000;

/** `rkat import`. Needs no model. */
export function importCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const command = program
    .command("import")
    .argument("[agent-or-path]", `${AGENTS.join(", ")}, or a file or folder`)
    .argument("[path]", "a file or folder of that agent")
    .option("--since <time>", "only sessions in which something was said since then")
    .option("--project <folder>", "only sessions of this project's folder", folderFlag)
    .option("--subagents", "remember what subagents said, too")
    .addOption(
      // Each look would find all of it new again.
      new Option("--dry-run", "count everything, and store nothing").conflicts("watch"),
    )
    .addOption(
      new Option(
        "--scope <scope>",
        "import everything into this project, or the user-wide store",
      ).choices(["project", "user"] satisfies readonly SearchScope[]),
    )
    .option("--watch", "go on with what is still being written, until Ctrl-C")
    .option("--trust", "use an export of rkat that was not written by you on this machine")
    .option("-y, --yes", "do not ask")
    .option("--json", "for scripts")
    .action(async (first: string | undefined, second: string | undefined, flags: ImportFlags) => {
      const from = sourceOf(first, second, terminal.cwd);
      if (flags.since !== undefined) await filtersOf({ since: flags.since }, terminal);
      const workspace = await workspaceToFill(context, command, flags.scope);
      const exported = await exportAt(from.path);
      if (exported) return await exported(workspace, flags, context);
      const isNamed = flags.scope !== undefined || command.optsWithGlobals().dir !== undefined;
      if (!isNamed) requireStoreOfUser(workspace);
      const isChosen = isNamed || workspace.user !== undefined;
      await useOpened(
        await openImport(workspace, { isTrial: flags.dryRun ?? false, isChosen }),
        async (importer) => {
          const found = importer.find(from);
          if (!found.some(({ files }) => files.length > 0)) {
            const { env } = terminal;
            throw nothingFound(from, { env, home: systemHome(env) });
          }
          if (!(await agrees(context, found, importer.destination, flags))) {
            await terminal.stderr.write("Nothing was imported.\n");
            return;
          }
          const options = {
            ...from,
            ...given({
              since: timeOf(flags, "since"),
              project: flags.project && resolve(terminal.cwd, flags.project),
              subagents: flags.subagents,
              dryRun: flags.dryRun,
            }),
          };
          await terminal.interruptible(async (signal) => {
            let added = 0;
            const importOnce = async () => {
              const imported = await run(context, importer, options, signal);
              added += imported.report.added;
              return imported;
            };
            try {
              const first = await importOnce();
              const failure = flags.watch ? undefined : unusable(from, first);
              if (!failure || flags.json) await show(first, context, flags);
              if (failure && flags.json) context.exitCode = ERRORS[failure.code].exitCode;
              else if (failure) throw failure;
              const news = new News(first.report.skipped);
              while (flags.watch) {
                await sleep(WATCH_MS, undefined, { signal });
                await showNews(news.in(await importOnce()), context, flags);
              }
            } catch (error) {
              if (!signal.aborted) throw error;
              if (!flags.watch)
                return await sayStopped(context, "What was imported stays. Import again to go on.");
              await terminal.stderr.write(
                `Stopped. ${plural(added, "message")} added. Import again to go on.\n`,
              );
            }
          });
        },
      );
    });
}

/** How the file is imported, if it is an export of rkat. */
async function exportAt(path: string | undefined) {
  if (path === undefined) return undefined;
  const { isExport } = await import("../../app/export-project.ts");
  if (!(await isExport(path))) return undefined;
  const { importExportInto } = await import("./backup-commands.ts");
  return async (workspace: Workspace, flags: ImportFlags, context: CliContext) => {
    requireWholeExport(flags);
    await importExportInto(workspace, path, flags, context);
  };
}

/** An export goes into one store, whole. */
function requireWholeExport(flags: ImportFlags): void {
  const [name] = (["since", "project", "subagents", "watch"] as const).filter(
    (each) => flags[each] !== undefined,
  );
  if (name === undefined) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `--${name} is for transcripts of agents, and the file is an export of rkat, which is imported whole.`,
    hint: `Leave --${name} out.`,
  });
}

type Source = Parameters<Importer["find"]>[0];
type Imported = Awaited<ReturnType<Importer["run"]>>;
type Options = Omit<Parameters<Importer["run"]>[0], "signal" | "onProgress">;

/** Without a `.rkat`, the sessions of all projects would go to a new one in any folder. */
function requireStoreOfUser({ user, storePlace }: Workspace): void {
  if (user === undefined || existsSync(storePlace.dataFolder)) return;
  throw new SessionError("INVALID_PARAMS", {
    message: "An import for a user goes to one store, and this folder has no .rkat.",
    hint: "Say --scope user for the user-wide store, or --scope project to make a .rkat here.",
  });
}

/** The reason why the named file gave nothing. In a folder, such files are listed beside the imported ones. */
function unusable(
  { path }: Source,
  { report: { messages, leftOut, skipped } }: Imported,
): SessionError | undefined {
  const isNamed = path !== undefined && statSync(path, { throwIfNoEntry: false })?.isFile();
  const [reason] = skipped;
  if (!isNamed || messages + leftOut > 0 || !reason) return undefined;
  const line = reason.line === undefined ? "" : `, line ${reason.line}`;
  return new SessionError("INVALID_PARAMS", {
    message: `Nothing was imported from ${reason.file}${line}: ${reason.reason}.`,
    hint: "Check the file, or name another one.",
  });
}

/** An agent, a path, or both. */
function sourceOf(first: string | undefined, second: string | undefined, cwd: string): Source {
  if (first === undefined) return {};
  const agent = AGENTS.find((name) => name === first);
  if (second === "") throw new SessionError("INVALID_PARAMS", { message: "The path is empty." });
  if (agent) return { agent, ...given({ path: second && resolve(cwd, second) }) };
  const path = resolve(cwd, first);
  const isThere = first !== "" && existsSync(path);
  if (isThere && second === undefined) return { path };
  if (isThere)
    throw new SessionError("INVALID_PARAMS", {
      message: "An import takes one path.",
      hint: "Import one after the other, or name the folder that has them.",
    });
  const near = nearestName(first, AGENTS);
  throw new SessionError("INVALID_PARAMS", {
    message: `"${first}" is no agent, and no file or folder.`,
    hint: near
      ? `Did you mean ${near}?`
      : `Name a path, or one of ${(AGENTS satisfies readonly AgentName[]).join(", ")}.`,
  });
}

async function agrees(
  { terminal }: CliContext,
  found: readonly FoundTranscripts[],
  destination: string,
  { yes, dryRun }: ImportFlags,
): Promise<boolean> {
  const { stdin, stderr, env } = terminal;
  if (yes || dryRun || !stdin.isTerminal || !stderr.isTerminal) return true;
  await stderr.write(renderFound(found, Date.now(), styleFor(stderr, env)));
  await printText(stderr, `${destination}\n`);
  const files = found.reduce((sum, each) => sum + each.files.length, 0);
  return await confirm(`import ${plural(files, "file")}`, terminal);
}

async function run(
  { terminal }: CliContext,
  importer: Importer,
  options: Options,
  signal: AbortSignal,
): Promise<Imported> {
  const progress = new ProgressLine(terminal.stderr);
  try {
    return await importer.run({
      ...options,
      signal,
      onProgress: ({ files, filesDone, bytes, bytesDone, added }) =>
        progress.show(
          `importing, ${thousands(filesDone)} of ${plural(files, "file")}, ${fileSize(bytesDone)} of ${fileSize(bytes)}, ${plural(added, "message")}`,
        ),
    });
  } finally {
    progress.clear();
  }
}

async function show(
  { report, added }: Imported,
  { terminal, rkat }: CliContext,
  { json, dryRun, ...flags }: ImportFlags,
): Promise<void> {
  const { stdout, stderr, env } = terminal;
  if (json) return await printJson(stdout, importJson(report, added));
  await printText(stdout, renderImport(report, added, dryRun === true, styleFor(stdout, env)));
  const filters = (["project", "since"] as const).filter((name) => flags[name] !== undefined);
  if (report.sessions === 0 && filters.length > 0) {
    const which = filters.map((name) => `--${name} ${shellWord(flags[name] ?? "")}`).join(" ");
    await printText(stderr, `No session was found for ${which}.\n`);
  }
  if (!stdout.isTerminal || dryRun || report.messages === 0) return;
  await stdout.write(`Search it: ${rkat} memory search "why did we …"\n`);
}

/** Reports the files that a round of `--watch` skipped, except those that earlier rounds skipped. */
class News {
  readonly #told: Set<string>;

  constructor(skipped: Imported["report"]["skipped"]) {
    this.#told = new Set(skipped.map((one) => JSON.stringify(one)));
  }

  in({ report, added }: Imported): Imported {
    const skipped = report.skipped.filter((one) => !this.#told.has(JSON.stringify(one)));
    for (const one of skipped) this.#told.add(JSON.stringify(one));
    return { report: { ...report, skipped }, added };
  }
}

async function showNews(
  { report, added }: Imported,
  { terminal: { stdout, env } }: CliContext,
  { json }: ImportFlags,
): Promise<void> {
  if (added.length === 0 && report.skipped.length === 0) return;
  if (json) return await printJson(stdout, importJson(report, added));
  await stdout.write(renderNews(report, added, new Date(), styleFor(stdout, env)));
}

interface NamedSource {
  readonly agent?: AgentName;
  readonly path?: string;
}

/** The reason why there is nothing to import: no permission, an agent that keeps nothing here, or no files. */
export function nothingFound(source: NamedSource, machine: Machine): SessionError {
  const { agent, path } = source;
  const unreadable: string[] = [];
  findTranscripts(
    { formats: IMPORT_FORMATS, machine, ...source },
    { skip: (folder, _, reason) => unreadable.push(`${folder}: ${reason}`) },
  );
  if (unreadable.length > 0) {
    return new SessionError("NOT_POSSIBLE", {
      message: `No transcripts could be read. ${unreadable.join(". ")}.`,
      hint: "Import as the user whose transcripts they are, or check the folder's permissions.",
    });
  }
  const formats = IMPORT_FORMATS.filter((each) => each.agent === agent);
  const places = formats.flatMap((format) => format.places(machine));
  if (path === undefined && formats.length > 0 && places.length === 0) {
    return new SessionError("NOT_POSSIBLE", {
      message: `${agent} keeps no transcripts on this machine.`,
      hint: `Ask for an export of your data in its settings, and name the file: \`rkat import ${agent} ~/Downloads/export.zip\`.`,
    });
  }
  const of = agent === undefined ? "" : ` of ${agent}`;
  const where = path ?? places.join(" or ");
  return new SessionError("NOT_POSSIBLE", {
    message: `No transcripts${of} were found ${where === "" ? "on this machine" : `in ${where}`}.`,
    hint: "Name a file or a folder: `rkat import ~/Downloads/conversations.json`.",
  });
}
