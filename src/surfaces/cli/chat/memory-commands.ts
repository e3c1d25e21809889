import { SessionError } from "../../../core/errors.ts";
import type { KnowledgeEntry } from "../../../core/knowledge.ts";
import type { MemoryHit } from "../../../core/memory-store.ts";
import { oneLine } from "../render/printable.ts";
import { renderMemoryHits, renderMemoryStats } from "../render/render-memory.ts";
import type { Chat } from "./chat.ts";
import type { ChatCommand } from "./chat-commands.ts";

const RESULTS_SHOWN = 5;
const ENTRIES_SHOWN = 30;
const TEXT_COLUMNS = 100;

/** What is known beyond the window. */
export const memoryCommands: readonly ChatCommand[] = [
  {
    name: "memory",
    takes: "[query]",
    does: "find what was said, in any session; without a query, how much there is",
    async run(chat, argument) {
      if (argument === "") {
        return await chat.say(renderMemoryStats(await chat.service.memoryStats({}), chat.style));
      }
      const hits = await chat.service.searchMemory({ query: argument, limit: RESULTS_SHOWN });
      if (hits.length === 0) return await chat.note("Nothing relevant is in memory.");
      await chat.say(renderMemoryHits(hits, chat.style, chat.context.terminal.stdout.columns));
    },
  },
  {
    name: "facts",
    takes: "[words]",
    does: "what tools told that is worth keeping, newest first",
    run: (chat, argument) => showKnowledge(chat, "fact", argument),
  },
  {
    name: "rules",
    takes: "[words]",
    does: "what new sessions of this project are told",
    run: (chat, argument) => showKnowledge(chat, "rule", argument),
  },
  {
    name: "forget",
    takes: "query",
    does: "find something, and take it out of everything that is kept",
    run: forget,
  },
];

async function showKnowledge(
  chat: Chat,
  kind: KnowledgeEntry["kind"],
  words: string,
): Promise<void> {
  const entries = await chat.service.listKnowledge({
    kind,
    limit: ENTRIES_SHOWN,
    ...(words === "" ? {} : { query: words }),
  });
  if (entries.length === 0) return await chat.note(`There are no ${kind}s yet.`);
  await chat.say(entries.map((entry) => `${lineOf(entry, chat)}\n`).join(""));
}

function lineOf({ content, count, pinned }: KnowledgeEntry, { style }: Chat): string {
  const often = [pinned ? "pinned" : "", count > 1 ? `${count} times` : ""].filter(Boolean);
  const aside = often.length > 0 ? style.dim(` (${often.join(", ")})`) : "";
  return `- ${oneLine(content, TEXT_COLUMNS)}${aside}`;
}

/** Shows what would go, and takes what is named. */
async function forget(chat: Chat, argument: string): Promise<void> {
  if (argument === "") {
    throw new SessionError("INVALID_PARAMS", {
      detail: "There is nothing to look for.",
      hint: "Say what it is about: /forget the old address.",
    });
  }
  const hits = await chat.service.searchMemory({ query: argument, limit: RESULTS_SHOWN });
  if (hits.length === 0) return await chat.note("Nothing relevant is in memory.");
  await chat.say(
    hits.map(({ content }, index) => `${index + 1}. ${oneLine(content, TEXT_COLUMNS)}\n`).join(""),
  );
  const typed = await chat.editor.read(
    chat.style.cyan("Forget which? numbers, all, or Enter for none › "),
  );
  const chosen = typed.type === "text" ? chosenOf(hits, typed.text) : [];
  if (chosen.length === 0) return await chat.note("Nothing was forgotten.");
  const { forgotten, remaining } = await chat.service.forgetMemory({
    ids: chosen.map(({ id }) => id),
  });
  const rest = remaining.length > 0 ? ` ${remaining.length} others say the same.` : "";
  await chat.note(`Forgot ${forgotten}.${rest}`);
}

function chosenOf(hits: readonly MemoryHit[], text: string): readonly MemoryHit[] {
  if (/^\s*all\s*$/i.test(text)) return hits;
  const numbers = (text.match(/\d+/g) ?? []).map(Number);
  return hits.filter((_, index) => numbers.includes(index + 1));
}
