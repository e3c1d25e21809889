import { SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import type { KnowledgeEntry } from "../../core/knowledge.ts";
import type { MemoryHit } from "../../core/memory-store.ts";
import { indexableText, toolResults, toolUses } from "../../core/message.ts";
import type { HistoryMessage } from "../../core/operations/sessions.ts";
import { nearestName } from "../../text/nearest-name.ts";
import { findSession } from "../commands/find-session.ts";
import { withTitles } from "../commands/session-titles.ts";
import { namedMessage } from "../commands/sessions/working-memory-commands.ts";
import { plural } from "../render/amounts.ts";
import { oneLine } from "../render/printable.ts";
import { renderCompaction, renderContext, renderPins } from "../render/render-context.ts";
import { renderCost } from "../render/render-cost.ts";
import { renderLag, renderMemoryHits, renderMemoryStats } from "../render/render-memory.ts";
import { renderSessionList, roleName, shortId, shortIds } from "../render/render-sessions.ts";
import { renderTable, type Style } from "../render/style.ts";
import type { Completion, Conversation, SlashCommand } from "./conversation.ts";
import { historyCommands, pickIn } from "./history-slash-commands.ts";

const SESSIONS_SHOWN = 20;

/** Commands about the session and its model. */
const sessionCommands: readonly SlashCommand[] = [
  {
    name: "sessions",
    does: "list the sessions of this project, last used first",
    async run(chat) {
      const found = await chat.service.list({ limit: SESSIONS_SHOWN });
      if (found.length === 0) return await chat.screen.note("There are no sessions yet.");
      const titled = await withTitles(chat.service, found);
      await chat.screen.say(
        renderSessionList(titled, Date.now(), chat.style, chat.terminal.stdout.columns, {
          wraps: true,
        }),
      );
    },
  },
  {
    name: "resume",
    takes: "[session]",
    does: "continue an earlier session, by its id or ~N (default: the last one)",
    complete: sessionIds,
    async run(chat, argument) {
      const { service, workspace } = chat;
      const name = argument === "" ? "last" : argument;
      const sessionId = await findSession(service, name, { workspace });
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

const RESULTS_SHOWN = 5;
const ENTRIES_SHOWN = 30;
const MEMORY_COLUMNS = 100;

/** Commands about memory and knowledge. */
const recallCommands: readonly SlashCommand[] = [
  {
    name: "memory",
    takes: "[query]",
    does: "search all sessions; without a query, show how much is in memory",
    async run(chat, argument) {
      if (argument === "") {
        return await chat.screen.say(
          renderMemoryStats(await chat.service.memoryStats({}), chat.style),
        );
      }
      const hits = await searchedFor(chat, argument);
      if (hits.length === 0) return await chat.screen.note("Nothing relevant in memory.");
      await chat.screen.say(renderMemoryHits(hits, chat.style, chat.terminal.stdout.columns));
    },
  },
  {
    name: "facts",
    takes: "[words]",
    does: "list recorded tool results, newest first",
    run: (chat, argument) => showKnowledge(chat, "fact", argument),
  },
  {
    name: "rules",
    takes: "[words]",
    does: "list the rules that new sessions follow",
    run: (chat, argument) => showKnowledge(chat, "rule", argument),
  },
  {
    name: "forget",
    takes: "query",
    does: "search, then delete what you pick, wherever its text is stored",
    run: forget,
  },
];

async function showKnowledge(
  chat: Conversation,
  kind: KnowledgeEntry["kind"],
  words: string,
): Promise<void> {
  const entries = await chat.service.listKnowledge({
    kind,
    limit: ENTRIES_SHOWN,
    ...(words === "" ? {} : { query: words }),
  });
  if (entries.length === 0) return await chat.screen.note(`There are no ${kind}s yet.`);
  await chat.screen.say(entries.map((entry) => `${linesOf(entry, chat)}\n`).join(""));
}

/** A rule is shown whole: the user may want to refuse it. */
function linesOf(
  { kind, content, count, pinned }: KnowledgeEntry,
  { style }: Conversation,
): string {
  const often = [pinned ? "pinned" : "", count > 1 ? plural(count, "time") : ""].filter(Boolean);
  const aside = often.length > 0 ? style.dim(` (${often.join(", ")})`) : "";
  const text = oneLine(content, kind === "rule" ? Number.POSITIVE_INFINITY : MEMORY_COLUMNS);
  // The two spaces make a column, below which a screen wraps the text.
  return `-  ${text}${aside}`;
}

/** The best results of a query. What memory lacks is said first: it is not among them. */
async function searchedFor(chat: Conversation, query: string): Promise<readonly MemoryHit[]> {
  const hits = await chat.service.searchMemory({ query, limit: RESULTS_SHOWN });
  const behind = renderLag(hits.behind, chat.rkat).trimEnd();
  if (behind !== "") await chat.screen.note(behind);
  return hits;
}

/** Shows the results of a query, and forgets those that the user picks. */
async function forget(chat: Conversation, argument: string): Promise<void> {
  if (argument === "") {
    throw new SessionError("INVALID_PARAMS", {
      message: "There is no query.",
      hint: "Type what to look for: /forget the old address.",
    });
  }
  const hits = await searchedFor(chat, argument);
  if (hits.length === 0) return await chat.screen.note("Nothing relevant in memory.");
  await chat.screen.say(
    hits
      .map(({ content }, index) => `${index + 1}. ${oneLine(content, MEMORY_COLUMNS)}\n`)
      .join(""),
  );
  const picked = await pickIn(chat, hits.length);
  const ids = picked.flatMap((position) => hits[position]?.id ?? []);
  if (ids.length === 0) return await chat.screen.note("Nothing was forgotten.");
  const { forgotten, remainingCount: more } = await chat.service.forgetMemory({ ids });
  const rest =
    more > 0
      ? ` Others that say the same or have one of its names: ${more}. \`${chat.rkat} memory forget --query TEXT\` lists them.`
      : "";
  await chat.screen.note(`Forgot ${plural(forgotten, "entry", "entries")}.${rest}`);
}

const TEXT_COLUMNS = 60;

/** Commands about the context window. */
const contextCommands: readonly SlashCommand[] = [
  {
    name: "context",
    does: "show what takes how many tokens, and when the next compaction runs",
    async run(chat) {
      const view = await chat.service.context({ sessionId: chat.requireSession() });
      await chat.screen.say(renderContext(view, chat.style, chat.terminal.stdout.columns));
    },
  },
  {
    name: "cost",
    does: "show what this session cost, in tokens and money",
    async run(chat) {
      const cost = await chat.service.sessionCost({ sessionId: chat.requireSession() });
      await chat.screen.say(renderCost(cost, chat.style, chat.terminal.stdout.columns));
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
      await chat.screen.say(renderPins(pins, chat.style, chat.terminal.stdout.columns));
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
      await chat.screen.say(renderPins(pins, chat.style, chat.terminal.stdout.columns));
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
    .interruptible((signal) => chat.service.compact(request, { signal }), { goesOn: true })
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

const COMMANDS: readonly SlashCommand[] = [
  ...contextCommands,
  ...historyCommands,
  ...recallCommands,
  ...sessionCommands,
  {
    name: "help",
    takes: "[command]",
    does: "show this list, or one of its lines",
    run: (chat, name) => chat.screen.say(renderHelp(name)),
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
  const [, name, argument = ""] = /^\/([a-z]+(?:-[a-z]+)*|\?)(\s.*)?$/is.exec(text) ?? [];
  if (name === undefined) return undefined;
  const command = find(name.toLowerCase());
  if (command) {
    const given = argument.trim();
    if (given !== "" && command.takes === undefined) {
      throw new SessionError("INVALID_PARAMS", {
        message: `/${command.name} takes nothing, and was given "${oneLine(given, 40)}".`,
        hint: "/help lists the commands, and what each one takes.",
      });
    }
    return (chat) => command.run(chat, given);
  }
  const names = COMMANDS.map((one) => one.name);
  const near = nearestName(name, names);
  throw new SessionError("INVALID_PARAMS", {
    message: `There is no command /${oneLine(name, 40)}.`,
    hint: `${near ? `Did you mean /${near}? ` : ""}/help lists the commands. To send the text as a prompt, put a space before it.`,
  });
}

/** Whether a text is the command that leaves the chat. It also works where a question is open. */
export function isQuit(text: string): boolean {
  const [, typed = ""] = /^\s*\/([a-z]+)\s*$/i.exec(text) ?? [];
  const name = typed.toLowerCase();
  return (ALIASES[name] ?? name) === "quit";
}

/** The completions that Tab offers: names of commands, or values of an argument. */
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

function renderHelp(asked: string): string {
  const one = find(asked.replace(/^\//, ""));
  if (one) return `  /${one.name} ${one.takes ?? ""}  ${one.does}`;
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
