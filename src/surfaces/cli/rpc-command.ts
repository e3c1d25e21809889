import type { Command } from "commander";
import { JsonRpcServer } from "../json-rpc/json-rpc-server.ts";
import type { CliContext } from "./cli-context.ts";
import { settingsJson } from "./config-command.ts";
import { withServiceOf, workspaceOf } from "./with-service.ts";

/** `rkat rpc`. Standard output carries the protocol and nothing else. */
export function rpcCommand(program: Command, context: CliContext): void {
  const command = program
    .command("rpc")
    .description("serve this project's sessions to another program: JSON-RPC, one message a line")
    .action(async () => {
      const { terminal, version } = context;
      const workspace = await workspaceOf(context, command);
      await withServiceOf(workspace, context, "create", (service) =>
        terminal.interruptible((signal) => {
          const config = async () => settingsJson(workspace);
          const streams = terminal.takeStreams();
          return new JsonRpcServer({ service, version, config, signal, ...streams }).serve();
        }),
      );
    });
}
