import { SessionError } from "../../core/errors.ts";
import { contentText } from "../../core/message.ts";
import { startsTurn } from "../../core/turn.ts";
import { lastRecalled } from "../commands/sessions/bring-back-commands.ts";
import { messageId } from "../commands/sessions/history-commands.ts";
import { oneLine } from "../render/printable.ts";
import {
  renderBroughtBack,
  renderDiff,
  renderFork,
  renderRefusals,
  renderTrace,
  renderUndo,
} from "../render/render-history.ts";
import { shortId } from "../render/render-sessions.ts";
import { notPicked, PICK_QUESTION, pickedIn } from "../terminal/ask.ts";
import type { Conversation, SlashCommand } from "./conversation.ts";

const TEXT_COLUMNS = 100;

/** Commands about what compactions did, and about other ways that the session could go on. */
export const historyCommands: readonly SlashCommand[] = [
  {
    name: "undo",
    does: "undo the last compaction; what it took out is in the window again",
    run: (chat) => undo(chat, {}),
  },
  {
    name: "redo",
    does: "undo the last undo",
    run: (chat) => undo(chat, { redo: true }),
  },
  {
    name: "diff",
    does: "show what the last compaction did to each message",
    async run(chat) {
      const view = await chat.service.readCompaction({ sessionId: chat.requireSession() });
      await chat.screen.say(renderDiff(view, chat.style, chat.terminal.stdout.columns));
    },
  },
  {
    name: "why",
    takes: "@id",
    does: "show what became of a message, by its id",
    async run(chat, argument) {
      const request = { sessionId: chat.requireSession(), message: messageId(argument) };
      await chat.screen.say(renderTrace(await chat.service.readMessage(request), chat.style));
    },
  },
  {
    name: "fork",
    takes: "[@id]",
    does: "go on in a new session, from message @id or from here; this one stays as it is",
    async run(chat, argument) {
      const at = argument === "" ? {} : { event: messageId(argument) };
      await fork(chat, at);
    },
  },
  {
    name: "edit",
    does: "ask your last prompt in other words, in a new session; your next prompt takes its place",
    async run(chat) {
      const { history } = await chat.service.read({ sessionId: chat.requireSession() });
      const last = history.findLast(({ message }) => startsTurn(message));
      if (last?.message.role !== "user") {
        throw new SessionError("NOT_POSSIBLE", { message: "You have not asked anything yet." });
      }
      await fork(chat, { event: last.id - 1 });
      await chat.screen.note(`It was: ${oneLine(contentText(last.message.content), 400)}`);
    },
  },
  {
    name: "bring-back",
    takes: "@id [pin]",
    does: "show the model message @id again, whole, until the next compaction; with pin, always",
    async run(chat, argument) {
      const [id = "", pin] = argument.split(/\s+/);
      const request = { sessionId: chat.requireSession(), message: messageId(id) };
      const outcome = await chat.service.bringBack({
        ...request,
        ...(pin === "pin" ? { pin: true } : {}),
      });
      await chat.screen.note(renderBroughtBack(outcome));
    },
  },
  {
    name: "not-this",
    takes: "[id]",
    does: "never recall a record of memory here again; without an id, pick from the last ones",
    run: notThis,
  },
  {
    name: "allow-recall",
    takes: "id",
    does: "let a record of memory that you refused come back here again",
    async run(chat, argument) {
      const sessionId = chat.requireSession();
      const ids = argument.split(/\s+/).filter((id) => id !== "");
      await chat.screen.note(renderRefusals(await chat.service.allowRecall({ sessionId, ids })));
    },
  },
];

async function undo(chat: Conversation, how: { readonly redo?: true }): Promise<void> {
  const sessionId = chat.requireSession();
  const outcome = await chat.service.undoCompaction({ sessionId, ...how });
  await chat.screen.note(renderUndo(outcome));
}

async function fork(chat: Conversation, at: { readonly event?: number }): Promise<void> {
  const forked = await chat.service.forkSession({ sessionId: chat.requireSession(), ...at });
  chat.sessionId = forked.sessionId;
  await chat.screen.note(`Session ${shortId(forked.sessionId)}: ${renderFork(forked)}`);
}

async function notThis(chat: Conversation, argument: string): Promise<void> {
  const sessionId = chat.requireSession();
  const ids = argument === "" ? await pickedRecords(chat, sessionId) : argument.split(/\s+/);
  if (ids.length === 0) return await chat.screen.note("Nothing was refused.");
  await chat.screen.note(
    renderRefusals(await chat.service.refuseRecall({ sessionId, ids: [...ids] })),
  );
}

async function pickedRecords(chat: Conversation, sessionId: string): Promise<readonly string[]> {
  const records = await lastRecalled(chat.service, sessionId);
  if (records.length === 0) return [];
  const lines = records.map(
    ({ said_by, text }, index) => `${index + 1}. ${oneLine(`${said_by}: ${text}`, TEXT_COLUMNS)}\n`,
  );
  await chat.screen.say(lines.join(""));
  return (await pickIn(chat, records.length)).flatMap((position) => records[position]?.id ?? []);
}

/** Asks for numbers of a list until they are some of it. Returns the positions. */
export async function pickIn(chat: Conversation, count: number): Promise<readonly number[]> {
  for (;;) {
    const typed = await chat.screen.read({ text: chat.style.cyan(PICK_QUESTION) });
    const picked = typed.type === "text" ? pickedIn(typed.text, count) : [];
    if (picked) return picked;
    await chat.screen.note(notPicked(count).trimEnd());
  }
}
