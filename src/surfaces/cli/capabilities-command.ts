import type { Command } from "commander";
import type { Config } from "../../config/config.ts";
import type { SettingKey } from "../../config/settings.ts";
import { CAPABILITIES, CAPABILITY_DESCRIPTIONS, type Capability } from "../../core/capabilities.ts";
import type { CliContext } from "./cli-context.ts";
import { printJson } from "./print-json.ts";
import { styleFor } from "./style.ts";
import { workspaceOf } from "./with-service.ts";

const SETTING_OF = {
  "session-store": "capabilities.session_store",
  "memory-store": "capabilities.memory_store",
  "session-compaction": "capabilities.session_compaction",
} as const satisfies Record<Capability, SettingKey>;

/** Whether the settings leave a capability on. */
export function hasCapability(config: Config, capability: Capability): boolean {
  return config.get(SETTING_OF[capability]);
}

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
