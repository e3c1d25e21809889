import { findSession } from "../commands/find-session.ts";
import { plural } from "../render/amounts.ts";
import { renderSessionList, shortId, shortIds } from "../render/render-sessions.ts";
import type { Conversation, SlashCommand } from "./conversation.ts";

const SESSIONS_SHOWN = 20;

/** Commands about the session and its model. */
export const sessionCommands: readonly SlashCommand[] = [
  {
    name: "sessions",
    does: "list the sessions of this project, last used first",
    async run(chat) {
      const found = await chat.service.list({ limit: SESSIONS_SHOWN });
      if (found.length === 0) return await chat.screen.note("There are no sessions yet.");
      await chat.screen.say(
        renderSessionList(found, Date.now(), chat.style, chat.terminal.stdout.columns),
      );
    },
  },
  {
    name: "resume",
    takes: "[session]",
    does: "continue an earlier session, by its id or ~N (default: the last one)",
    complete: sessionIds,
    async run(chat, argument) {
      const sessionId = await findSession(chat.service, argument === "" ? "last" : argument);
      const view = await chat.service.read({ sessionId });
      await chat.screen.note(
        `Session ${shortId(sessionId)}: ${plural(view.turns, "turn")} with ${view.model}.` +
          (view.lastAssistantText === null ? "" : " Its last answer:"),
      );
      if (view.lastAssistantText !== null) await chat.screen.answer(view.lastAssistantText);
      await chat.resume(sessionId);
    },
  },
  {
    name: "new",
    does: "start a new session with the next prompt",
    async run(chat) {
      chat.sessionId = undefined;
      await chat.screen.note("The next prompt starts a new session.");
    },
  },
  {
    name: "model",
    takes: "[provider/model]",
    does: "change the model; without an argument, show it",
    async run(chat, argument) {
      if (argument !== "") await chat.useModel(argument);
      await chat.screen.note(`Model: ${await modelOf(chat)}.`);
    },
  },
];

async function sessionIds(chat: Conversation): Promise<readonly string[]> {
  const sessions = await chat.service.list({ limit: SESSIONS_SHOWN });
  return [...shortIds(sessions.map(({ sessionId }) => sessionId)).values()];
}

async function modelOf(chat: Conversation): Promise<string> {
  if (chat.model !== undefined) return chat.model;
  if (chat.sessionId === undefined) return chat.workspace.config.get("model") ?? "none";
  return (await chat.service.read({ sessionId: chat.sessionId })).model;
}
