import type { Command } from "commander";
import { hasCapability } from "../../../config/workspace.ts";
import { CAPABILITIES, CAPABILITY_DESCRIPTIONS } from "../../../core/capabilities.ts";
import type { CliContext } from "../cli-context.ts";
import { styleFor } from "../render/style.ts";
import { printJson } from "../terminal/print-json.ts";
import { workspaceOf } from "./with-service.ts";

/** `rkat capabilities`. */
export function capabilitiesCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const command = program
    .command("capabilities")
    .description("what rkat can do in this project")
    .option("--json", "for scripts")
    .action(async ({ json }: { json?: true }) => {
      const { config } = await workspaceOf(context, command);
      const capabilities = CAPABILITIES.map((id) => ({
        id,
        description: CAPABILITY_DESCRIPTIONS[id],
        available: hasCapability(config, id),
      }));
      if (json) return await printJson(terminal.stdout, { capabilities });
      const style = styleFor(terminal.stdout, terminal.env);
      const lines = capabilities.map(({ id, description, available }) => {
        const state = available ? style.green("on ") : style.red("off");
        return `${state}  ${id.padEnd(20)}${description}\n`;
      });
      await terminal.stdout.write(lines.join(""));
    });
}
