import { existsSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { installModel, modelsFolder } from "../../app/install-model.ts";
import { withContent } from "../../coding-agents/change-text.ts";
import { SessionError } from "../../core/errors.ts";
import { calledIn } from "../called-in.ts";
import type { CliContext } from "../cli-context.ts";
import { printable } from "../render/printable.ts";
import { printJson } from "../terminal/print.ts";
import { ProgressLine } from "../terminal/progress-line.ts";
import { changeOwnSettings, ownSettingsFile, tableIn, withoutTable } from "./own-settings.ts";

const TABLE = ["embeddings"];

/** `rkat embeddings install` and `remove`: the model that makes vectors on this machine. */
export function embeddingsCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const embeddings = program.command("embeddings").helpCommand(false);
  embeddings
    .command("install <model>")
    .description(
      "copy a model that you have into ~/.rkat/models, and use it: a folder, one of its files, or a name in the cache of the Hugging Face Hub. Nothing is downloaded",
    )
    .option("--json", "for scripts")
    .action(async (given: string, { json }: { json?: true }) => {
      const file = ownSettingsFile(terminal);
      const progress = new ProgressLine(terminal.stderr);
      progress.show("copying");
      const model = await installModel(given, terminal, ({ folder }) =>
        changeOwnSettings(file, (text) => withModel(text ?? "", folder, file)),
      ).finally(() => progress.clear());
      if (json) return await printJson(terminal.stdout, { ...model, settings: file });
      const { name, kind, dimensions, bytes, folder } = model;
      await terminal.stdout.write(
        `${printable(name)}: a ${kind} of ${(bytes / 1e6).toFixed(1)} MB, ${dimensions} dimensions.\nIt is in ${printable(folder)}, and ${file} names it.\n`,
      );
      const note =
        "Searches use words and meaning together. What memory has is embedded in the background; words find it meanwhile. `rkat doctor` says how far that is.\n";
      await terminal.stderr.write(calledIn(note, context.rkat));
    });
  embeddings
    .command("remove <name>")
    .description("delete an installed model, and take it out of your settings")
    .option("--json", "for scripts")
    .action(async (name: string, { json }: { json?: true }) => {
      const file = ownSettingsFile(terminal);
      const models = modelsFolder(terminal.env);
      requireName(name, models);
      const folder = join(models, name);
      await changeOwnSettings(file, (text) => withoutModel(text ?? "", folder));
      rmSync(folder, { recursive: true });
      if (json) return await printJson(terminal.stdout, { removed: true });
      await terminal.stdout.write(`${name} is deleted.\n`);
    });
}

/** The settings with this model in place of another that was installed. What you wrote yourself stays as it is. */
async function withModel(text: string, folder: string, file: string): Promise<string> {
  const values = { provider: "fast", model: folder };
  const before = await tableIn(text, TABLE);
  if (before !== undefined && !isInstalled(before, dirname(folder))) {
    throw new SessionError("NOT_POSSIBLE", {
      message: `${file} has [embeddings] of its own, so nothing was installed.`,
      hint: "Remove them from it, and install the model again.",
    });
  }
  const rest = before === undefined ? text : await withoutTable(text, TABLE, before);
  return (await withContent(rest, { kind: "toml", table: TABLE, values })).text;
}

async function withoutModel(text: string, folder: string): Promise<string> {
  const before = await tableIn(text, TABLE);
  return before?.model === folder ? await withoutTable(text, TABLE, before) : text;
}

/** Whether the lines are as `install` writes them. */
function isInstalled(
  { provider, model, ...others }: Readonly<Record<string, unknown>>,
  models: string,
): boolean {
  const isOurs = typeof model === "string" && dirname(model) === models;
  return provider === "fast" && isOurs && Object.keys(others).length === 0;
}

function requireName(name: string, models: string): void {
  const names = existsSync(models)
    ? readdirSync(models).filter((each) => !each.startsWith("."))
    : [];
  if (names.includes(name)) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `No model called ${JSON.stringify(name)} is installed.`,
    hint: names.length > 0 ? `There is ${names.join(", ")}.` : "There is none.",
  });
}
