import type { Command } from "commander";
import { JsonRpcServer } from "../../json-rpc/json-rpc-server.ts";
import type { CliContext } from "../cli-context.ts";
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
      const { input, output, release } = terminal.takeStreams();
      const config = async () => settingsJson(workspace);
      await withServiceOf(workspace, context, "create", (service) =>
        terminal.interruptible((signal) =>
          new JsonRpcServer({ service, version, config, signal, input, output }).serve(),
        ),
      );
      release();
    });
}
