import type { Command } from "commander";
import { openProjectService, requireModelOf } from "../../app/open-project-service.ts";
import { useOpened } from "../../app/opened.ts";
import { hasCapability, type Workspace } from "../../config/workspace.ts";
import type { Approve } from "../../core/approval.ts";
import { SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import { contentText, isSummary } from "../../core/message.ts";
import type { SessionService } from "../../core/session-service.ts";
import type { CliContext } from "../cli-context.ts";
import { findExisting } from "../commands/find-session.ts";
import { addRunFlags, addSessionFlags, toolsOf } from "../commands/run-flags.ts";
import { workspaceOf } from "../commands/with-service.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { Chat, type ChatFlags } from "./chat.ts";
import type { ChatScreen } from "./conversation.ts";
import { PlainScreen } from "./plain-screen.ts";
import { completeCommand } from "./slash-commands.ts";
import type { TerminalScreenOptions } from "./terminal-screen.ts";

/** `rkat chat`. */
export function chatCommand(program: Command, context: CliContext): void {
  const command = program
    .command("chat")
    .option("-r, --resume <session>", "continue an earlier session: its id, `last`, or ~N")
    .option("--fork <session[@id]>", "go on from a session, or one of its messages, in a new one");
  addSessionFlags(addRunFlags(command)).action(
    async ({ resume, fork, ...flags }: ChatFlags & Begun) => {
      if (resume !== undefined && fork !== undefined) throw bothGiven();
      const workspace = await workspaceOf(context, command);
      const { model } = flags;
      if (model !== undefined) await requireModelOf(workspace.config, model);
      let chat: Chat | undefined;
      const approve: Approve = (call, options) => chat?.approve(call, options);
      const asking = { approve, ...toolsOf(flags, workspace.config) };
      const opened = await openProjectService(workspace, "create", asking);
      await useOpened(opened, async (service) => {
        // A session that does not exist ends the command before the screen opens.
        const sessionId = await begunWith(service, workspace, { resume, fork });
        const isKept = hasCapability(workspace.config, "session-store");
        const history = isKept ? await earlierPrompts(service) : [];
        const screen = await openScreen(context.terminal, {
          history,
          complete: async (line) =>
            chat ? completeCommand(chat, line) : { options: [], replaced: line },
        });
        const { toolsNote } = opened;
        chat = new Chat({ context, workspace, service, flags, screen, toolsNote });
        await chat.run(sessionId);
      });
    },
  );
}

/** The session that a chat begins with. */
interface Begun {
  readonly resume?: string | undefined;
  readonly fork?: string | undefined;
}

async function begunWith(
  service: SessionService,
  workspace: Workspace,
  { resume, fork }: Begun,
): Promise<string | undefined> {
  if (fork === undefined)
    return resume === undefined ? resume : await findExisting(service, resume, { workspace });
  const [, name = "", id] = /^(.*?)(?:@(\d{1,15}))?$/s.exec(fork) ?? [];
  const sessionId = await findExisting(service, name, { workspace });
  const event = id === undefined ? undefined : Number(id);
  return (await service.forkSession({ sessionId, ...given({ event }) })).sessionId;
}

function bothGiven(): SessionError {
  return new SessionError("INVALID_PARAMS", { message: "Give --resume or --fork, not both." });
}

/** A terminal that cannot move its cursor is used like a pipe. */
async function openScreen(
  terminal: Terminal,
  options: Pick<TerminalScreenOptions, "history" | "complete">,
): Promise<ChatScreen> {
  const { stdin, stdout, env } = terminal;
  if (!stdin.isTerminal || !stdout.isTerminal || env.TERM === "dumb") {
    return new PlainScreen(terminal);
  }
  // Loaded lazily: nothing else of the command needs it.
  const { openTerminalScreen } = await import("./terminal-screen.ts");
  return openTerminalScreen(terminal, options);
}

const SESSIONS = 5;
const PROMPTS_MAX = 100;

/**
 * The prompts of the last sessions, the last one first. They are read from the logs, so there is
 * no second file to keep, or to forget.
 */
export async function earlierPrompts(
  service: Pick<SessionService, "list" | "read">,
): Promise<readonly string[]> {
  const sessions = await service.list({ limit: SESSIONS });
  const views = await Promise.all(
    sessions.map(({ sessionId }) => service.read({ sessionId }).catch(() => undefined)),
  );
  const prompts = views.flatMap((view) =>
    (view?.history ?? [])
      .flatMap(({ message }) =>
        message.role === "user" && !isSummary(message) ? [contentText(message.content)] : [],
      )
      .reverse(),
  );
  return prompts.slice(0, PROMPTS_MAX);
}
