import { type Command, InvalidArgumentError } from "commander";
import { wholeNumber } from "../../../config/setting-kind.ts";
import { SessionError } from "../../../core/errors.ts";
import { serveRest } from "../../rest/serve-rest.ts";
import type { CliContext } from "../cli-context.ts";
import { oneLine } from "../render/printable.ts";
import { renderFailure } from "../render/render-failure.ts";
import { styleFor } from "../render/style.ts";
import { countFlag, flagOf, given } from "./flags.ts";
import { withServiceOf, workspaceOf } from "./with-service.ts";

interface ServeFlags {
  readonly port: number;
  readonly host: string;
  readonly token?: string;
  readonly allowHost?: readonly string[];
  readonly cors?: readonly string[];
  readonly maxTurns?: number;
}

/** `rkat serve`. The first Ctrl-C lets running turns end, the second does not. */
export function serveCommand(program: Command, context: CliContext): void {
  const { terminal, version } = context;
  const command = program
    .command("serve")
    .description("serve the project's sessions over HTTP (REST, server-sent events)")
    .option("--port <n>", "where to listen; 0 takes a free port", countFlag(65_535), 8080)
    .option("--host <address>", "which address to listen on", "127.0.0.1")
    .option("--token <text>", "what clients must send (better: RKAT_TOKEN, which nobody sees)")
    .option("--allow-host <name>", "another name of this server (repeatable)", several)
    .option("--cors <origin>", "pages that may call it: https://app.example (repeatable)", origins)
    .option("--max-turns <n>", "turns that may run at once", flagOf(wholeNumber))
    .action(async (flags: ServeFlags) => {
      const workspace = await workspaceOf(context, command);
      const style = styleFor(terminal.stderr, terminal.env);
      const token = flags.token ?? (terminal.env.RKAT_TOKEN || undefined);
      await withServiceOf(workspace, context, "serve", (service) =>
        terminal.interruptible(async (signal) => {
          const server = await serveRest({
            service,
            version,
            port: flags.port,
            host: flags.host,
            limits: given({ turns: flags.maxTurns }),
            ...given({ token, hosts: flags.allowHost, cors: flags.cors }),
            onError: (error) =>
              void terminal.stderr.write(renderFailure(SessionError.from(error), style)),
          });
          const guarded = token === undefined ? "no token" : "with a token";
          await terminal.stderr.write(
            `Serving ${oneLine(workspace.folder, 200)} at ${server.url} (${guarded}). Ctrl-C ends it.\n`,
          );
          await aborted(signal);
          await terminal.stderr.write("Ending: running turns have 10 seconds.\n");
          await server.close({ graceMs: 10_000 });
        }),
      );
    });
}

function several(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

function origins(text: string, before?: readonly string[]): readonly string[] {
  if (URL.parse(text)?.origin === text) return several(text, before);
  throw new InvalidArgumentError("It must be an origin, such as https://app.example.");
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
