import type { Command } from "commander";
import { hasCapability } from "../../../config/workspace.ts";
import type { Approve } from "../../../core/approval.ts";
import type { CliContext } from "../cli-context.ts";
import { addSessionFlags, type SessionFlags } from "../commands/session-flags.ts";
import { addRunFlags, type RunFlags } from "../commands/turn-flags.ts";
import { workspaceOf } from "../commands/with-service.ts";
import { Chat } from "./chat.ts";
import { askedBefore } from "./chat-history.ts";

export type ChatFlags = RunFlags & SessionFlags & { readonly resume?: string };

/** `rkat chat`. */
export function chatCommand(program: Command, context: CliContext): void {
  const command = program
    .command("chat")
    .description("talk in a session, and steer what it keeps; /help in it says how")
    .option("-r, --resume <session>", "go on with an earlier session: its id, `last`, or ~N");
  addSessionFlags(addRunFlags(command)).action(async (flags: ChatFlags) => {
    const workspace = await workspaceOf(context, command);
    let chat: Chat | undefined;
    const approve: Approve = (call, options) => chat?.approve(call, options);
    const service = await context.engine.openService(workspace, "create", { approve });
    try {
      const isKept = hasCapability(workspace.config, "session-store");
      const history = isKept ? await askedBefore(service.it) : [];
      chat = new Chat({ context, workspace, service: service.it, flags, history });
      await chat.run(flags.resume);
    } finally {
      await service.close();
    }
  });
}
