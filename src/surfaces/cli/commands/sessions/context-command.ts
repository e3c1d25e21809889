import type { Command } from "commander";
import { contextView } from "../../../../core/results.ts";
import { toWire } from "../../../../core/wire.ts";
import type { CliContext } from "../../cli-context.ts";
import { renderContext } from "../../render/render-context.ts";
import { styleFor } from "../../render/style.ts";
import { printJson } from "../../terminal/print-json.ts";
import { sessionCommand, withSession } from "./with-session.ts";

/** `rkat sessions context`: where each token of the window goes. */
export function sessionsContextCommand(sessions: Command, context: CliContext): void {
  const { terminal } = context;
  const command = sessionCommand(sessions, "context", "where each token of the window goes")
    .option("--json", "for scripts")
    .action((name: string, { json }: { json?: true }) =>
      withSession(context, command, name, async (service, sessionId) => {
        const view = await service.context({ sessionId });
        if (json) return await printJson(terminal.stdout, toWire(contextView, view));
        const style = styleFor(terminal.stdout, terminal.env);
        await terminal.stdout.write(renderContext(view, style));
      }),
    );
}
