import type { Command } from "commander";
import type { CliContext } from "../cli-context.ts";
import { countFlag, given } from "./flags.ts";
import { withServiceOf, workspaceOf } from "./with-service.ts";

interface McpFlags {
  readonly http?: true;
  readonly port: number;
  readonly host: string;
  readonly allowHost?: readonly string[];
}

const WAITING =
  "Waiting for an MCP client on standard input, which is usually a program's to start.\n";

/** `rkat mcp`. Without `--http`, standard output carries the protocol and nothing else. */
export function mcpCommand(program: Command, context: CliContext): void {
  const { terminal, version } = context;
  const command = program
    .command("mcp")
    .description("serve this project's memory and sessions to MCP clients, such as coding agents")
    .option("--http", "over HTTP, instead of standard input and output")
    .option("--port <n>", "where to listen; 0 takes a free port", countFlag(65_535), 8081)
    .option("--host <address>", "which address to listen on; others need RKAT_TOKEN", "127.0.0.1")
    .option("--allow-host <name>", "another name of this server (repeatable)", several)
    .action(async ({ http, port, host, allowHost }: McpFlags) => {
      const workspace = await workspaceOf(context, command);
      await withServiceOf(workspace, context, http ? "serve" : "create", (service) =>
        terminal.interruptible(async (signal) => {
          if (!http) {
            if (terminal.stdin.isTerminal) await terminal.stderr.write(WAITING);
            const { serveMcpStdio } = await import("../../mcp/serve-mcp-stdio.ts");
            return await serveMcpStdio({ service, version, signal, ...terminal.takeStreams() });
          }
          const { serveMcpHttp } = await import("../../mcp/serve-mcp-http.ts");
          const token = terminal.env.RKAT_TOKEN || undefined;
          const names = given({ token, hosts: allowHost });
          const server = await serveMcpHttp({ service, version, port, host, ...names });
          await terminal.stderr.write(`Serving MCP at ${server.url}. Ctrl-C ends it.\n`);
          await new Promise<void>((resolve) => {
            signal.addEventListener("abort", () => resolve(), { once: true });
            if (signal.aborted) resolve();
          });
          await server.close();
        }),
      );
    });
}

function several(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
