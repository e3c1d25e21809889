import { SessionError } from "../../../core/errors.ts";
import { nearestName } from "../../../core/nearest-name.ts";
import { oneLine } from "../render/printable.ts";
import { contextCommands } from "./context-commands.ts";
import type { Completion, Conversation, SlashCommand } from "./conversation.ts";
import { recallCommands } from "./recall-commands.ts";
import { sessionCommands } from "./session-commands.ts";

const COMMANDS: readonly SlashCommand[] = [
  ...contextCommands,
  ...recallCommands,
  ...sessionCommands,
  {
    name: "help",
    does: "show this list",
    run: (chat) => chat.screen.say(renderHelp()),
  },
  {
    name: "quit",
    does: "leave; also Ctrl-D, or Ctrl-C twice",
    run: async (chat) => chat.leave(),
  },
];

const ALIASES: Readonly<Record<string, string>> = { "?": "help", exit: "quit", q: "quit" };

/**
 * The command in a text, ready to run; undefined when the text is a prompt.
 *
 * @throws SessionError `INVALID_PARAMS` when there is no such command.
 */
export function commandIn(text: string): ((chat: Conversation) => Promise<void>) | undefined {
  const [, name, argument = ""] = /^\/([a-z]+|\?)(\s.*)?$/s.exec(text) ?? [];
  if (name === undefined) return undefined;
  const command = find(name);
  if (command) return (chat) => command.run(chat, argument.trim());
  const names = COMMANDS.map((one) => one.name);
  const near = nearestName(name, names);
  throw new SessionError("INVALID_PARAMS", {
    message: `There is no command /${oneLine(name, 40)}.`,
    hint: `${near ? `Did you mean /${near}? ` : ""}/help lists the commands. To send the text as a prompt, put a space before it.`,
  });
}

/** Whether a text is the command that leaves the chat. It also works where a question is open. */
export function isQuit(text: string): boolean {
  const [, name = ""] = /^\s*\/([a-z]+)\s*$/.exec(text) ?? [];
  return (ALIASES[name] ?? name) === "quit";
}

/** What Tab offers: names of commands, or values of an argument. */
export async function completeCommand(chat: Conversation, line: string): Promise<Completion> {
  const [, name, rest] = /^\/(\S*)(\s.*)?$/.exec(line) ?? [];
  const argument = rest?.trimStart();
  if (name === undefined) return { options: [], replaced: line };
  if (argument === undefined) {
    const named = COMMANDS.filter((command) => command.name.startsWith(name));
    const options = named.map(({ name, does }) => ({ value: `/${name} `, does }));
    return { options, replaced: line };
  }
  const values = (await find(name)?.complete?.(chat)) ?? [];
  const options = values.filter((value) => value.startsWith(argument)).map((value) => ({ value }));
  return { options, replaced: argument };
}

function find(name: string): SlashCommand | undefined {
  return COMMANDS.find((command) => command.name === (ALIASES[name] ?? name));
}

function renderHelp(): string {
  const rows = COMMANDS.map(({ name, takes = "", does }) => [`/${name} ${takes}`, does]);
  const width = Math.max(...rows.map(([usage = ""]) => usage.length));
  return [
    ...rows.map(([usage = "", does]) => `  ${usage.padEnd(width)}  ${does}`),
    "",
    "  End a line with \\ to continue on the next one. A pasted text is one prompt.",
    "  Tab completes, ↑ shows earlier prompts, Ctrl-C stops an answer.",
    "  What you type during an answer is sent after it.",
  ].join("\n");
}
