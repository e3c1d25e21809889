import type { Command } from "commander";
import { distrust, settingsFile, trust, trustIn } from "../../../config/trust.ts";
import { examineWorkspace } from "../../../config/workspace.ts";
import { SessionError } from "../../../core/errors.ts";
import { lookAt, lookAtFile } from "../../../files/plain-files.ts";
import type { CliContext } from "../cli-context.ts";
import { printJson } from "../terminal/print.ts";

/** `rkat trust`: believe the settings and the store of a project that you did not make here. */
export function trustCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const command = program
    .command("trust")
    .description("use this project's settings and store although you did not make them here")
    .option("--revoke", "no longer trust the project")
    .option("--show", "show what is trusted, and change nothing")
    .option("--json", "for scripts")
    .action(async ({ revoke, show, json }: { revoke?: true; show?: true; json?: true }) => {
      const { dir } = command.optsWithGlobals<{ dir?: string }>();
      const { workspace } = await examineWorkspace(terminal, dir);
      const { folder, dataFolder, storeFile } = workspace;
      if (!lookAt(folder, dataFolder)) {
        throw new SessionError("INVALID_PARAMS", {
          message: `There is no .rkat in ${folder}.`,
          hint: "Name the project's folder with --dir.",
        });
      }
      if (revoke) distrust(workspace, terminal.env);
      else if (!show) {
        lookAtFile(folder, storeFile);
        trust("folder", dataFolder, workspace, terminal.env);
        trust("settings", settingsFile(workspace), workspace, terminal.env);
        trust("store", storeFile, workspace, terminal.env);
      }
      const now = trustIn(workspace, terminal.env);
      if (json)
        return await printJson(terminal.stdout, {
          folder,
          settings: now.settings,
          store: now.store,
        });
      const word = (is: boolean) => (is ? "trusted" : "not trusted");
      await terminal.stdout.write(
        `${folder}\n  settings  ${word(now.settings)}\n  store     ${word(now.store)}\n`,
      );
    });
}
