import { given } from "../../../core/fields.ts";
import { indexableText, toolResults, toolUses } from "../../../core/message.ts";
import type { HistoryMessage } from "../../../core/session-service.ts";
import { namedMessage } from "../commands/sessions/working-memory-commands.ts";
import { oneLine } from "../render/printable.ts";
import { renderCompaction, renderContext, renderPins } from "../render/render-context.ts";
import { roleName } from "../render/render-sessions.ts";
import type { Style } from "../render/style.ts";
import { renderTable } from "../render/table.ts";
import type { Conversation, SlashCommand } from "./conversation.ts";

const TEXT_COLUMNS = 60;

/** Commands about the context window. */
export const contextCommands: readonly SlashCommand[] = [
  {
    name: "context",
    does: "show what takes how many tokens, and when the next compaction runs",
    async run(chat) {
      const view = await chat.service.context({ sessionId: chat.requireSession() });
      await chat.screen.say(renderContext(view, chat.style, chat.terminal.stdout.columns));
    },
  },
  {
    name: "compact",
    takes: "[instructions]",
    does: "compact the history now; the instructions are for the summary",
    run: compact,
  },
  {
    name: "pin",
    takes: "[n]",
    does: "keep message n through compactions; without n, list the messages",
    complete: positions,
    async run(chat, argument) {
      const sessionId = chat.requireSession();
      if (argument === "") {
        const { history } = await chat.service.read({ sessionId });
        return await chat.screen.say(renderPositions(history, chat.style));
      }
      const pins = await chat.service.pin({ sessionId, ...namedMessage(argument) });
      await chat.screen.say(renderPins(pins, chat.style));
    },
  },
  {
    name: "unpin",
    takes: "n",
    does: "let the next compaction discard message n; without n, list the pins",
    complete: pinnedPositions,
    async run(chat, argument) {
      const sessionId = chat.requireSession();
      const pins =
        argument === ""
          ? await chat.service.pins({ sessionId })
          : await chat.service.unpin({ sessionId, ...namedMessage(argument) });
      await chat.screen.say(renderPins(pins, chat.style));
    },
  },
];

async function compact(chat: Conversation, argument: string): Promise<void> {
  const { screen, terminal } = chat;
  const request = {
    sessionId: chat.requireSession(),
    ...given({ instructions: argument === "" ? undefined : argument }),
  };
  screen.working("compacting the history");
  const outcome = await terminal
    .interruptible((signal) => chat.service.compact(request, { signal }))
    .finally(() => screen.working());
  await screen.note(renderCompaction(outcome));
}

function renderPositions(history: readonly HistoryMessage[], style: Style): string {
  const rows = history.map(({ message, pinned }, position) => [
    String(position),
    pinned ? "pinned" : "",
    roleName(message),
    oneLine(beginningOf(message), TEXT_COLUMNS),
  ]);
  const columns = [
    { title: "N", align: "right" },
    { title: "" },
    { title: "ROLE" },
    { title: "TEXT" },
  ] as const;
  return renderTable(columns, rows, style);
}

function beginningOf(message: HistoryMessage["message"]): string {
  const text = message.role === "system" ? message.content : indexableText(message);
  if (text !== "") return text;
  const calls = toolUses(message).map(({ name, args }) => `→ ${name} ${JSON.stringify(args)}`);
  return [...calls, ...toolResults(message).map(({ content }) => content)].join(" ");
}

async function positions({ service, sessionId }: Conversation): Promise<readonly string[]> {
  if (sessionId === undefined) return [];
  const { history } = await service.read({ sessionId });
  return history.map((_, position) => String(position));
}

async function pinnedPositions({ service, sessionId }: Conversation): Promise<readonly string[]> {
  if (sessionId === undefined) return [];
  const { pins } = await service.pins({ sessionId });
  return pins.map(({ position }) => String(position));
}
