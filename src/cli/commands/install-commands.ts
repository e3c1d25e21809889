import { resolve } from "node:path";
import { Argument, type Command, Option } from "commander";
import { CODING_AGENTS, type CodingAgentName } from "../../coding-agents/agents.ts";
import {
  type AgentFile,
  carryOut,
  type FileChange,
  type Plan,
  planInstall,
  planUninstall,
} from "../../coding-agents/installation.ts";
import { SCOPES, type Scope, type Target } from "../../coding-agents/target.ts";
import { findProject } from "../../config/config-places.ts";
import { SessionError } from "../../core/errors.ts";
import type { CliContext } from "../cli-context.ts";
import { plural } from "../render/amounts.ts";
import { printable } from "../render/printable.ts";
import { type Style, styleFor } from "../render/style.ts";
import { printJson, printText } from "../terminal/print.ts";
import { requireFolder } from "./with-service.ts";

interface InstallFlags {
  readonly scope?: Scope;
  readonly print?: true;
  readonly json?: true;
}

/** Lines of a planned change that a terminal shows, so that both files of an agent are on one screen. */
const LINES_ON_SCREEN = 12;

const NAMES = Object.keys(CODING_AGENTS) as readonly CodingAgentName[];

/** `rkat install`: puts rkat into the settings of a coding agent. */
export function installCommand(program: Command, context: CliContext): void {
  addCommand(program, context, {
    name: "install",
    plan: planInstall,
    done: (title, gets) => `${title} now has ${gets}. Restart ${title}.`,
    nothing: (title) => `${title} has all of it already.`,
  });
}

/** `rkat uninstall`: takes back what `rkat install` wrote. */
export function uninstallCommand(program: Command, context: CliContext): void {
  addCommand(program, context, {
    name: "uninstall",
    plan: planUninstall,
    done: (title) => `${title} no longer uses rkat. Its memory is still there.`,
    nothing: (title) => `Nothing of rkat is installed for ${title}.`,
  });
}

interface Work {
  readonly name: string;
  plan(files: readonly AgentFile[], env: Target["env"]): Promise<Plan>;
  done(title: string, gets: string): string;
  nothing(title: string): string;
}

function addCommand(program: Command, context: CliContext, work: Work): void {
  const { terminal } = context;
  const { env, stdout, stderr } = terminal;
  const command = program
    .command(work.name)
    .addArgument(new Argument("<agent>", "the coding agent").choices(NAMES))
    .addOption(
      new Option(
        "--scope <scope>",
        "for you in every project (user), or for you in this project",
      ).choices(SCOPES),
    )
    .option("--print", "show what each file would become, and write nothing")
    .option("--json", "for scripts")
    .action(async (name: CodingAgentName, { scope, print, json }: InstallFlags) => {
      const { title, gets, scopes, files } = CODING_AGENTS[name];
      const target: Target = {
        scope: requireScope(name, scope ?? scopes[0]),
        folder: projectFolder(context, command),
        env,
        command: [process.execPath, context.program],
      };
      const all: readonly AgentFile[] = files(target).map((file) =>
        target.scope === "project" && file.root === target.folder ? file : { ...file, isOwn: true },
      );
      const plan = await work.plan(all, env);
      const changes = plan.changes.filter(({ before, after }) => before !== after);
      if (!print) carryOut(plan, env);
      if (json) {
        const shown = plan.changes.map((change) => changeJson(change, print ?? false));
        return await printJson(stdout, { agent: name, scope: target.scope, files: shown });
      }
      const style = styleFor(stdout, env);
      const linesMax = stdout.isTerminal ? LINES_ON_SCREEN : undefined;
      for (const change of changes) {
        await stdout.write(renderChange(change, print ?? false, style, linesMax));
      }
      await warnAboutCache(context, work.name);
      if (changes.length === 0) await stdout.write(`${work.nothing(title)}\n`);
      else if (!print) await printText(stdout, `${work.done(title, gets)}\n`);
      else {
        const called = [context.rkat, work.name, name, ...(scope ? ["--scope", scope] : [])].join(
          " ",
        );
        const more = stdout.isTerminal ? `All lines: \`${called} --print | less\`\n` : "";
        await stderr.write(`${more}Nothing was written. \`${called}\` writes this.\n`);
      }
    });
}

function requireScope(name: CodingAgentName, scope: Scope): Scope {
  const { title, scopes } = CODING_AGENTS[name];
  if ((scopes as readonly Scope[]).includes(scope)) return scope;
  throw new SessionError("INVALID_PARAMS", {
    message: `${title} has no settings for one project.`,
    hint: "Leave --scope out.",
  });
}

function projectFolder(context: CliContext, command: Command): string {
  requireFolder(context, command);
  const { terminal } = context;
  const { dir } = command.optsWithGlobals<{ dir?: string }>();
  return dir === undefined ? findProject(terminal.cwd, terminal.env) : resolve(terminal.cwd, dir);
}

function changeJson({ file, before, after }: FileChange, hasText: boolean) {
  return {
    path: file.path,
    change: changeOf(before, after),
    ...(hasText ? { text: after ?? null } : {}),
  };
}

function changeOf(before: string | undefined, after: string | undefined) {
  if (before === after) return "none";
  if (before === undefined) return "made";
  return after === undefined ? "removed" : "changed";
}

/** npm may clear its cache, and the paths in the settings would lead nowhere. */
async function warnAboutCache({ program, terminal }: CliContext, work: string): Promise<void> {
  if (work !== "install" || !/[/\\]_npx[/\\]/.test(program)) return;
  await terminal.stderr.write(
    "warning: this rkat is in the cache of npx, which npm may clear. Run `npm install -g rkat`, and then `rkat install` again.\n",
  );
}

/** Lines around a change that are shown. */
const AROUND = 3;

/**
 * A change to a file: `changed  /home/ada/.claude/settings.json`. One that is only planned comes with the
 * lines of the file:
 *
 *     would change  /home/ada/.claude/settings.json
 *         "model": "opus",
 *     +   "hooks": {
 *
 * With `linesMax`, only the first of them are shown.
 */
function renderChange(
  { file, before, after }: FileChange,
  isPlanned: boolean,
  style: Style,
  linesMax = Number.POSITIVE_INFINITY,
) {
  const [does, did] =
    before === undefined
      ? ["make", "made"]
      : after === undefined
        ? ["remove", "removed"]
        : ["change", "changed"];
  const path = printable(file.path);
  if (!isPlanned) return `${style.bold(did.padEnd(8))} ${path}\n`;
  const lines = renderLines(before ?? "", after ?? "", style).split(/(?<=\n)/);
  const hidden = lines.length - linesMax;
  const more = hidden > 1 ? style.dim(`  … ${plural(hidden, "more line")}\n`) : "";
  const shown = more === "" ? lines : lines.slice(0, linesMax);
  return `${style.bold(`would ${does}`)}  ${path}\n${shown.join("")}${more}\n`;
}

interface Line {
  readonly sign: " " | "+" | "-";
  readonly text: string;
}

function renderLines(before: string, after: string, style: Style): string {
  const lines = comparedLines(linesOf(before), linesOf(after));
  const shown = lines.map((_, index) =>
    lines.slice(Math.max(0, index - AROUND), index + AROUND + 1).some(({ sign }) => sign !== " "),
  );
  let hidden = 0;
  const flush = () => {
    const text = style.dim(
      `  … ${plural(hidden, "line")} as ${hidden === 1 ? "it is" : "they are"}\n`,
    );
    const gap = hidden > 0 ? text : "";
    hidden = 0;
    return gap;
  };
  let out = "";
  for (const [index, { sign, text }] of lines.entries()) {
    if (!shown[index]) {
      hidden += 1;
      continue;
    }
    const line = `${sign} ${printable(text)}`;
    out += flush() + (sign === "+" ? style.green(line) : sign === "-" ? style.red(line) : line);
    out += "\n";
  }
  return out + flush();
}

/** Lines are only added, or only removed, and where one gets a comma it is both. */
function comparedLines(before: readonly string[], after: readonly string[]): readonly Line[] {
  const lines: Line[] = [];
  let old = 0;
  let next = 0;
  while (old < before.length || next < after.length) {
    const [was, is] = [before[old], after[next]];
    if (was === is) {
      lines.push({ sign: " ", text: was ?? "" });
      old += 1;
      next += 1;
      continue;
    }
    const addedUpTo = was === undefined ? after.length : after.indexOf(was, next);
    const removedUpTo = is === undefined ? before.length : before.indexOf(is, old);
    if (addedUpTo >= 0 && (removedUpTo < 0 || addedUpTo - next <= removedUpTo - old)) {
      for (; next < addedUpTo; next += 1) lines.push({ sign: "+", text: after[next] ?? "" });
    } else if (removedUpTo >= 0) {
      for (; old < removedUpTo; old += 1) lines.push({ sign: "-", text: before[old] ?? "" });
    } else {
      lines.push({ sign: "-", text: was ?? "" }, { sign: "+", text: is ?? "" });
      old += 1;
      next += 1;
    }
  }
  return lines;
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}
