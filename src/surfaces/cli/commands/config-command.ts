import { existsSync } from "node:fs";
import type { Command } from "commander";
import type { EffectiveSetting } from "../../../config/config.ts";
import { examineWorkspace, type Workspace } from "../../../config/workspace.ts";
import type { CliContext } from "../cli-context.ts";
import { oneLine } from "../render/printable.ts";
import { renderTable } from "../render/render-table.ts";
import { type Style, styleFor } from "../render/style.ts";
import { printJson } from "../terminal/print-json.ts";
import type { Terminal } from "../terminal/terminal.ts";

const VALUE_COLUMNS_MAX = 50;

/** `rkat config`: every setting in force, and who says so. */
export function configCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const command = program
    .command("config")
    .description("show every setting in force, and where it comes from")
    .option("--json", "for scripts")
    .action(async ({ json }: { json?: true }) => {
      const { dir } = command.optsWithGlobals<{ dir?: string }>();
      const { workspace, problem } = await examineWorkspace(terminal, dir);
      if (json) await printJson(terminal.stdout, settingsJson(workspace));
      else await printSettings(terminal, workspace);
      if (problem) throw problem;
    });
}

/** The settings in force, for scripts and for programs at the other end of a wire. */
export function settingsJson({ config, files, notes }: Workspace) {
  return {
    files: Object.entries(files).map(([owner, path]) => ({
      owner,
      path,
      exists: existsSync(path),
    })),
    settings: config.effective().map(({ key, value, origin }) => ({ key, value, origin })),
    notes,
  };
}

async function printSettings(
  { stdout, stderr, env }: Terminal,
  { config, files, notes }: Workspace,
): Promise<void> {
  await stdout.write(renderSettings(config.effective(), styleFor(stdout, env)));
  const places = Object.values(files).map(
    (path) => `  ${path}${existsSync(path) ? "" : " (not there)"}\n`,
  );
  await stderr.write(`\nFiles, the later one wins:\n${places.join("")}`);
  if (notes.length > 0)
    await stderr.write(`\nNotes:\n${notes.map((note) => `  ${note}\n`).join("")}`);
}

function renderSettings(settings: readonly EffectiveSetting[], style: Style): string {
  const rows = settings.map(({ key, written, origin }) => [
    key,
    written === "" ? "-" : oneLine(written, VALUE_COLUMNS_MAX),
    origin,
  ]);
  return renderTable([{ title: "SETTING" }, { title: "VALUE" }, { title: "FROM" }], rows, style);
}
