import type { MemoryEntry } from "rkat";
import type { Conversation, Question } from "../data/conversation.ts";

/** A conversation as one session has it: who speaks first is the user, and the other the model. */
export interface Talk {
  readonly id: string;
  readonly exchanges: readonly Exchange[];
  readonly questions: readonly Question[];
  /** The text of each message by its id. */
  readonly texts: ReadonlyMap<string, string>;
}

/** What the user says before an answer, and the answer, each in one message or several in a row. */
export interface Exchange {
  readonly asked: readonly Said[];
  readonly answered: readonly Said[];
}

export interface Said {
  readonly text: string;
  readonly speaker?: string;
  readonly time?: string;
}

/** What is sent in place of an exchange's missing half. */
const NOTHING_SAID: readonly Said[] = [{ text: "…" }];

/** A conversation of a data set as a session. */
export function talkOf({ id, entries, questions }: Conversation): Talk {
  const first = entries[0]?.speaker === "assistant" ? "user" : entries[0]?.speaker;
  const isUser = (entry: MemoryEntry) => entry.speaker === first;
  const exchanges: { asked: Said[]; answered: Said[] }[] = [];
  for (const entry of entries) {
    const last = exchanges.at(-1);
    const { content: text, speaker, time } = entry;
    const said = {
      text,
      ...(speaker === undefined ? {} : { speaker }),
      ...(time === undefined ? {} : { time }),
    };
    if (!isUser(entry)) {
      if (last) last.answered.push(said);
      else exchanges.push({ asked: [], answered: [said] });
    } else if (last && last.answered.length === 0) last.asked.push(said);
    else exchanges.push({ asked: [said], answered: [] });
  }
  return {
    id,
    exchanges: exchanges.map(({ asked, answered }) => ({
      asked: asked.length > 0 ? asked : NOTHING_SAID,
      answered: answered.length > 0 ? answered : NOTHING_SAID,
    })),
    questions: questions.filter(({ relevant }) => relevant.length > 0),
    texts: new Map(entries.map((entry) => [entry.id, entry.content])),
  };
}

const SUMMARY_SENTENCES = 24;

/** The shortest sentence that a summary takes. */
const SENTENCE_CHARACTERS = 12;

/** A summariser without a model: sentences from all over what it is given, and no word of its own. */
export function summariserOf({ exchanges }: Pick<Talk, "exchanges">): (given: string) => string {
  const said = exchanges.flatMap(({ asked, answered }) => [...asked, ...answered]);
  const split = said.flatMap(({ text }) => text.split(/\n|(?<=[.!?]) /));
  const sentences = [...new Set(split.filter(({ length }) => length >= SENTENCE_CHARACTERS))];
  return (given) => pickFrom(sentences, given).join("\n");
}

/** Of sentences those that a text has: 24 at most, from all over it. */
export function pickFrom(sentences: readonly string[], given: string): readonly string[] {
  const found = sentences.filter((sentence) => given.includes(sentence));
  const stride = Math.max(1, found.length / SUMMARY_SENTENCES);
  return Array.from(
    { length: Math.min(SUMMARY_SENTENCES, found.length) },
    (_, index) => found[Math.floor(index * stride)] ?? "",
  );
}

/** Tokens of a text, by its length: good enough to say how much of a talk fits into some windows. */
function roughTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

/** The beginning of a talk that has at most so many tokens. */
export function beginningOf({ exchanges }: Talk, tokensMax: number): readonly Exchange[] {
  let tokens = 0;
  const past = exchanges.findIndex(({ asked, answered }) => {
    for (const { text } of [...asked, ...answered]) tokens += roughTokens(text);
    return tokens > tokensMax;
  });
  return past < 0 ? exchanges : exchanges.slice(0, past);
}
