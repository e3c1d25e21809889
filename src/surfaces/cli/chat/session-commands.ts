import { findSession } from "../commands/find-session.ts";
import { renderSessionList, shortIds } from "../render/render-sessions.ts";
import type { Chat } from "./chat.ts";
import type { ChatCommand } from "./chat-commands.ts";

const SESSIONS_SHOWN = 20;

/** Which session is talked in, and who answers. */
export const sessionCommands: readonly ChatCommand[] = [
  {
    name: "sessions",
    does: "the sessions of this project, last used first",
    async run(chat) {
      const found = await chat.service.list({ limit: SESSIONS_SHOWN });
      if (found.length === 0) return await chat.note("There are no sessions.");
      await chat.say(renderSessionList(found, Date.now(), chat.style));
    },
  },
  {
    name: "resume",
    takes: "[session]",
    does: "go on with an earlier session, by its id or ~N; the last one by default",
    complete: sessionIds,
    async run(chat, argument) {
      const sessionId = await findSession(chat.service, argument === "" ? "last" : argument);
      const view = await chat.service.read({ sessionId });
      await chat.note(
        `Session ${sessionId.slice(0, 8)}: ${view.turns} turns with ${view.model}.` +
          (view.lastAssistantText === null ? "" : " It ended with:"),
      );
      if (view.lastAssistantText !== null) await chat.say(chat.quoted(view.lastAssistantText));
      await chat.resume(sessionId);
    },
  },
  {
    name: "new",
    does: "begin a new session with the next prompt",
    async run(chat) {
      chat.sessionId = undefined;
      await chat.note("The next prompt begins a new session.");
    },
  },
  {
    name: "model",
    takes: "[provider/model]",
    does: "who answers from now on; without an argument, who does now",
    async run(chat, argument) {
      if (argument !== "") chat.model = argument;
      await chat.note(`${await modelOf(chat)} answers.`);
    },
  },
];

async function sessionIds(chat: Chat): Promise<readonly string[]> {
  const sessions = await chat.service.list({ limit: SESSIONS_SHOWN });
  return [...shortIds(sessions.map(({ sessionId }) => sessionId)).values()];
}

async function modelOf(chat: Chat): Promise<string> {
  if (chat.model !== undefined) return chat.model;
  if (chat.sessionId === undefined) return chat.workspace.config.get("model") ?? "Nobody yet";
  return (await chat.service.read({ sessionId: chat.sessionId })).model;
}
