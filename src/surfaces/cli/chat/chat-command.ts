import type { Command } from "commander";
import { hasCapability } from "../../../config/workspace.ts";
import type { Approve } from "../../../core/approval.ts";
import { contentText, isSummary } from "../../../core/message.ts";
import type { SessionService } from "../../../core/session-service.ts";
import type { CliContext } from "../cli-context.ts";
import { addRunFlags, addSessionFlags } from "../commands/run-flags.ts";
import { useOpened, workspaceOf } from "../commands/with-service.ts";
import { Chat, type ChatFlags } from "./chat.ts";

/** `rkat chat`. */
export function chatCommand(program: Command, context: CliContext): void {
  const command = program
    .command("chat")
    .description("talk in a session; type /help for its commands")
    .option("-r, --resume <session>", "continue an earlier session: its id, `last`, or ~N");
  addSessionFlags(addRunFlags(command)).action(
    async ({ resume, ...flags }: ChatFlags & { readonly resume?: string }) => {
      const workspace = await workspaceOf(context, command);
      let chat: Chat | undefined;
      const approve: Approve = (call, options) => chat?.approve(call, options);
      const opened = await context.engine.openService(workspace, "create", { approve });
      await useOpened(opened, async (service) => {
        const isKept = hasCapability(workspace.config, "session-store");
        const history = isKept ? await earlierPrompts(service) : [];
        chat = new Chat({ context, workspace, service, flags, history });
        await chat.run(resume);
      });
    },
  );
}

const SESSIONS = 5;
const LINES_MAX = 1000;

/**
 * The prompts of the last sessions, line by line, the last line first. They are read
 * from the logs, so there is no second file to keep, or to forget.
 */
export async function earlierPrompts(
  service: Pick<SessionService, "list" | "read">,
): Promise<readonly string[]> {
  const sessions = await service.list({ limit: SESSIONS });
  const views = await Promise.all(sessions.map(({ sessionId }) => service.read({ sessionId })));
  const prompts = views.flatMap(({ history }) =>
    history
      .flatMap(({ message }) =>
        message.role === "user" && !isSummary(message) ? [contentText(message.content)] : [],
      )
      .reverse(),
  );
  return prompts.flatMap((prompt) => prompt.split("\n").reverse()).slice(0, LINES_MAX);
}
