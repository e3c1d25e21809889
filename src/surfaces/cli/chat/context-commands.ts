import { indexableText, isSummary, toolResults, toolUses } from "../../../core/message.ts";
import type { HistoryMessage } from "../../../core/session-service.ts";
import { given } from "../commands/flags.ts";
import { namedMessage } from "../commands/sessions/pins-command.ts";
import { oneLine } from "../render/printable.ts";
import { renderContext } from "../render/render-context.ts";
import { renderPins } from "../render/render-pins.ts";
import { renderTable } from "../render/render-table.ts";
import type { Style } from "../render/style.ts";
import { thousands } from "../render/thousands.ts";
import { ProgressLine } from "../terminal/progress-line.ts";
import type { Chat } from "./chat.ts";
import type { ChatCommand } from "./chat-commands.ts";

const TEXT_COLUMNS = 60;

/** What the model is sent, and what stays of it. */
export const contextCommands: readonly ChatCommand[] = [
  {
    name: "context",
    does: "where each token of the window goes, and when the next compaction comes",
    async run(chat) {
      const view = await chat.service.context({ sessionId: chat.requireSession() });
      await chat.say(renderContext(view, chat.style));
    },
  },
  {
    name: "compact",
    takes: "[instructions]",
    does: "compact the history now; instructions are for the summary",
    run: compact,
  },
  {
    name: "pin",
    takes: "[n]",
    does: "keep message n in the history; without n, the messages by number",
    complete: positions,
    async run(chat, argument) {
      const sessionId = chat.requireSession();
      if (argument === "") {
        const { history } = await chat.service.read({ sessionId });
        return await chat.say(renderPositions(history, chat.style));
      }
      const pins = await chat.service.pin({ sessionId, ...namedMessage(argument) });
      await chat.say(renderPins(pins, chat.style));
    },
  },
  {
    name: "unpin",
    takes: "n",
    does: "let the next compaction have message n; without n, what is pinned",
    complete: pinnedPositions,
    async run(chat, argument) {
      const sessionId = chat.requireSession();
      const pins =
        argument === ""
          ? await chat.service.pins({ sessionId })
          : await chat.service.unpin({ sessionId, ...namedMessage(argument) });
      await chat.say(renderPins(pins, chat.style));
    },
  },
];

async function compact(chat: Chat, argument: string): Promise<void> {
  const { terminal } = chat.context;
  const progress = new ProgressLine(terminal.stderr);
  progress.show("compacting the history");
  const request = {
    sessionId: chat.requireSession(),
    ...given({ instructions: argument === "" ? undefined : argument }),
  };
  const outcome = await terminal
    .interruptible((signal) => chat.service.compact(request, { signal }))
    .finally(() => progress.clear());
  await chat.note(
    outcome.compacted
      ? `Compacted: ${outcome.messagesBefore} → ${outcome.messagesAfter} messages, ${thousands(outcome.tokensBefore)} → ${thousands(outcome.tokensAfter)} tokens.`
      : `Nothing was compacted: ${outcome.reason}`,
  );
}

function renderPositions(history: readonly HistoryMessage[], style: Style): string {
  const rows = history.map(({ message, pinned }, position) => [
    String(position),
    pinned ? "pinned" : "",
    isSummary(message) ? "summary" : message.role.replace("block_", "").replace("_", " "),
    oneLine(beginningOf(message), TEXT_COLUMNS),
  ]);
  const columns = [
    { title: "N", align: "right" },
    { title: "" },
    { title: "ROLE" },
    { title: "BEGINS" },
  ] as const;
  return renderTable(columns, rows, style);
}

function beginningOf(message: HistoryMessage["message"]): string {
  const text = message.role === "system" ? message.content : indexableText(message);
  if (text !== "") return text;
  const calls = toolUses(message).map(({ name, args }) => `→ ${name} ${JSON.stringify(args)}`);
  return [...calls, ...toolResults(message).map(({ content }) => content)].join(" ");
}

async function positions({ service, sessionId }: Chat): Promise<readonly string[]> {
  if (sessionId === undefined) return [];
  const { history } = await service.read({ sessionId });
  return history.map((_, position) => String(position));
}

async function pinnedPositions({ service, sessionId }: Chat): Promise<readonly string[]> {
  if (sessionId === undefined) return [];
  const { pins } = await service.pins({ sessionId });
  return pins.map(({ position }) => String(position));
}
