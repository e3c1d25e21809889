import { nearestName } from "../../../config/nearest-name.ts";
import type { Chat } from "./chat.ts";
import { contextCommands } from "./context-commands.ts";
import { memoryCommands } from "./memory-commands.ts";
import { sessionCommands } from "./session-commands.ts";

/** Something that is typed with a slash before it. */
export interface ChatCommand {
  readonly name: string;
  /** What it takes, as the help shows it. */
  readonly takes?: string;
  readonly does: string;
  run(chat: Chat, argument: string): Promise<void>;
  /** What its argument may be. */
  complete?(chat: Chat): Promise<readonly string[]>;
}

const CHAT_COMMANDS: readonly ChatCommand[] = [
  ...contextCommands,
  ...memoryCommands,
  ...sessionCommands,
  {
    name: "help",
    does: "this list",
    run: (chat) => chat.say(renderHelp()),
  },
  {
    name: "quit",
    does: "leave; so do Ctrl-D, and Ctrl-C twice",
    run: async (chat) => chat.leave(),
  },
];

const ALIASES: Readonly<Record<string, string>> = { "?": "help", exit: "quit", q: "quit" };

export function findCommand(name: string): ChatCommand | undefined {
  return CHAT_COMMANDS.find((command) => command.name === (ALIASES[name] ?? name));
}

/** The command that somebody may have meant. */
export function nearestCommand(name: string): string | undefined {
  return nearestName(
    name,
    CHAT_COMMANDS.map((command) => command.name),
  );
}

/** What a line may go on with: a command's name, or what its argument may be. */
export async function completeCommand(
  chat: Chat,
  line: string,
): Promise<readonly [options: readonly string[], replaced: string]> {
  const [, name, argument] = /^\/(\S*)(?:\s+(.*))?$/.exec(line) ?? [];
  if (name === undefined) return [[], line];
  if (argument === undefined) {
    const names = CHAT_COMMANDS.map((command) => `/${command.name} `);
    return [names.filter((option) => option.startsWith(line)), line];
  }
  const options = (await findCommand(name)?.complete?.(chat)) ?? [];
  return [options.filter((option) => option.startsWith(argument)), argument];
}

function renderHelp(): string {
  const rows = CHAT_COMMANDS.map(({ name, takes = "", does }) => [`/${name} ${takes}`, does]);
  const width = Math.max(...rows.map(([usage = ""]) => usage.length));
  return [
    ...rows.map(([usage = "", does]) => `  ${usage.padEnd(width)}  ${does}`),
    "",
    "  A line that ends with \\ goes on in the next one; a pasted text is one text.",
    "  Tab completes, ↑ brings back what you typed, Ctrl-C stops an answer.",
  ].join("\n");
}
