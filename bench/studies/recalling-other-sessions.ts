import { parseArgs } from "node:util";
import type { MemoryEntry } from "../../src/core/memory-store.ts";
import { chooseRecords, RECALL_SEARCH } from "../../src/recall/choose-records.ts";
import { recallQuery } from "../../src/recall/recall-bar.ts";
import { memoryBar } from "../../src/session/memory-bar.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { percent, readSets, row, STUDY_OPTIONS } from "./recall-study.ts";

/**
 * What comes back of other sessions, in a new session with `recallFrom: "project"`.
 *
 *     node bench/studies/recalling-other-sessions.ts --data FOLDER [--set locomo,realtalk]
 *
 * All talks but one are sessions of a memory. "Right" are questions about these: the share whose answer comes back, and the
 * share for which anything does. "Wrong" are prompts about the talk that memory lacks: the share of its questions, and of what
 * people said in it, for which anything comes back. Each talk in turn is the one that is left out.
 */

const TALKS_MAX = 5;
const PROMPTS_MAX = 60;
const TOKENS = 1_500;

const { values } = parseArgs({ options: STUDY_OPTIONS });
const WIDTH = 14;
console.log(
  row("in percent", ["bar", "right, answer", "right, any", "wrong question", "wrong words"], WIDTH),
);
for (const { name, conversations } of readSets(values)) {
  for (const left of conversations.slice(0, TALKS_MAX)) {
    const { memory, events, close } = sqliteStores({ path: ":memory:" });
    const others = conversations.filter((one) => one !== left);
    for (const [number, { entries }] of others.entries()) {
      await memory.add(
        entries.map((entry) => ({ ...entry, role: "user", sessionId: `talk ${number}` })),
      );
    }
    const bar = await memoryBar(memory, events);
    const recalled = async (prompt: string) => {
      const query = recallQuery({ prompt });
      const hits = await memory.search({ ...RECALL_SEARCH, query });
      const asked = { query, bar, tokensMax: TOKENS, sessionId: "new", isNew: () => true };
      return chooseRecords(hits, asked)?.records ?? [];
    };
    const questions = evenly(
      others.flatMap((one) => one.questions),
      PROMPTS_MAX,
    );
    const answers = await Promise.all(questions.map(({ text }) => recalled(text)));
    const withAnswer = questions.filter(({ relevant }, at) =>
      answers[at]?.some(({ id }) => relevant.includes(id)),
    );
    const anyOf = async (prompts: readonly string[]) =>
      (await Promise.all(prompts.map(recalled))).filter(({ length }) => length > 0).length;
    const wrongQuestions = evenly(left.questions, PROMPTS_MAX).map(({ text }) => text);
    const wrongWords = evenly(said(left.entries), PROMPTS_MAX);
    const shares = [
      [withAnswer.length, questions.length],
      [answers.filter(({ length }) => length > 0).length, questions.length],
      [await anyOf(wrongQuestions), wrongQuestions.length],
      [await anyOf(wrongWords), wrongWords.length],
    ] as const;
    const cells = shares.map(([count, of]) => percent(count / of));
    console.log(row(name, [String(bar), ...cells], WIDTH));
    await close();
  }
}

function said(entries: readonly MemoryEntry[]): readonly string[] {
  return entries.filter(({ role }) => role !== "assistant").map(({ content }) => content);
}

function evenly<Item>(items: readonly Item[], count: number): readonly Item[] {
  if (items.length <= count) return items;
  return items.filter(
    (_, at) =>
      Math.floor((at * count) / items.length) !== Math.floor(((at - 1) * count) / items.length),
  );
}
