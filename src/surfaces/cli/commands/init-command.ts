import { existsSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { Command } from "commander";
import { configTemplate } from "../../../config/config-template.ts";
import { makeDataFolder } from "../../../config/workspace.ts";
import type { CliContext } from "../cli-context.ts";

/** `rkat init`: makes `.rkat` here, and never touches what is there. */
export function initCommand(program: Command, context: CliContext): void {
  const init = program
    .command("init")
    .description("make .rkat here, with a commented config.toml")
    .action(async () => {
      const { terminal } = context;
      const folder = resolve(terminal.cwd, init.optsWithGlobals<{ dir?: string }>().dir ?? "");
      const dataFolder = join(folder, ".rkat");
      const config = join(dataFolder, "config.toml");
      const made = [...makeDataFolder(dataFolder)];
      if (!existsSync(config)) {
        writeFileSync(config, configTemplate(), { flag: "wx", mode: 0o600 });
        made.push(config);
      }
      const shown = (path: string) => relative(terminal.cwd, path) || ".";
      const lines =
        made.length > 0
          ? made.map((path) => `made  ${shown(path)}\n`)
          : [`${shown(dataFolder)} is there already; nothing was changed.\n`];
      await terminal.stdout.write(lines.join(""));
      if (made.includes(config)) {
        await terminal.stderr.write(`Set \`model\` in ${shown(config)}, then: rkat "hello"\n`);
      }
    });
}
