import { SessionError } from "../../../core/errors.ts";
import type { KnowledgeEntry } from "../../../core/knowledge.ts";
import { plural } from "../render/amounts.ts";
import { oneLine } from "../render/printable.ts";
import { renderMemoryHits, renderMemoryStats } from "../render/render-memory.ts";
import { notPicked, PICK_QUESTION, pickedIn } from "../terminal/ask.ts";
import type { Conversation, SlashCommand } from "./conversation.ts";

const RESULTS_SHOWN = 5;
const ENTRIES_SHOWN = 30;
const TEXT_COLUMNS = 100;

/** Commands about memory and knowledge. */
export const recallCommands: readonly SlashCommand[] = [
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
      const hits = await chat.service.searchMemory({ query: argument, limit: RESULTS_SHOWN });
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
  const text = oneLine(content, kind === "rule" ? Number.POSITIVE_INFINITY : TEXT_COLUMNS);
  // The two spaces make a column, below which a screen wraps the text.
  return `-  ${text}${aside}`;
}

/** Shows what a query finds, and forgets what the user picks. */
async function forget(chat: Conversation, argument: string): Promise<void> {
  if (argument === "") {
    throw new SessionError("INVALID_PARAMS", {
      message: "There is no query.",
      hint: "Type what to look for: /forget the old address.",
    });
  }
  const hits = await chat.service.searchMemory({ query: argument, limit: RESULTS_SHOWN });
  if (hits.length === 0) return await chat.screen.note("Nothing relevant in memory.");
  await chat.screen.say(
    hits.map(({ content }, index) => `${index + 1}. ${oneLine(content, TEXT_COLUMNS)}\n`).join(""),
  );
  const picked = await pickIn(chat, hits.length);
  const ids = picked.flatMap((position) => hits[position]?.id ?? []);
  if (ids.length === 0) return await chat.screen.note("Nothing was forgotten.");
  const { forgotten, remaining } = await chat.service.forgetMemory({ ids });
  const rest = remaining.length > 0 ? ` ${remaining.length} more say the same.` : "";
  await chat.screen.note(`Forgot ${plural(forgotten, "entry", "entries")}.${rest}`);
}

async function pickIn(chat: Conversation, count: number): Promise<readonly number[]> {
  for (;;) {
    const typed = await chat.screen.read({ text: chat.style.cyan(PICK_QUESTION) });
    const picked = typed.type === "text" ? pickedIn(typed.text, count) : [];
    if (picked) return picked;
    await chat.screen.note(notPicked(count).trimEnd());
  }
}
