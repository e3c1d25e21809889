import type { MemoryEntry } from "rkat";
import { below, oneOf, type Random, randomFrom } from "./random.ts";
import { contentRank, contentWords, functionWord, inflected, wordOf } from "./vocabulary.ts";

/** A question, and the ids of the entries that answer it; an empty list when none does. */
export interface Question {
  readonly text: string;
  readonly relevant: readonly string[];
}

/** What two people said in some sessions, and questions about it. */
export interface Conversation {
  readonly id: string;
  readonly entries: readonly MemoryEntry[];
  readonly questions: readonly Question[];
}

const SESSIONS = 10;
const MESSAGES = 30;
export const CONVERSATION_ENTRIES = SESSIONS * MESSAGES;

const NAMES = (
  "Ada Alma Amir Ana Arun Bea Boris Carla Chen Clara Dana Dario Dora Elif Emil Erik Eva Felix Finn " +
  "Freya Gita Greta Hana Hugo Ida Igor Ines Ivan Jana Jonas Juno Kai Karim Lara Leo Lena Lin Luca " +
  "Maja Marco Mei Milan Mira Nadia Nils Nora Olga Omar Otto Paula Petra Rafa Rosa Sami Sara Sven " +
  "Tara Theo Uma Vera Viktor Yara Yuki Zoe"
).split(" ");

const MONTHS =
  "January February March April May June July August September October November December".split(
    " ",
  );

const FIRST_DAY_MS = Date.UTC(2023, 0, 2, 9);
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/**
 * The conversation with a number. It depends on the number and the seed alone, so
 * each process can make just the part that it needs.
 *
 * A session has a topic: forty words that its messages repeat. A few times per
 * session one speaker asks something, and the other answers in other words.
 */
export function conversation(number: number, seed: number): Conversation {
  const random = randomFrom(seed * 1_000_003 + number);
  const id = `conversation-${number}`;
  const first = oneOf(NAMES, random);
  const second = oneOf(
    NAMES.filter((name) => name !== first),
    random,
  );
  const sessions = Array.from({ length: SESSIONS }, (_, session) =>
    sessionOf({ id, number, session, speakers: [first, second] }, random),
  );
  return {
    id,
    entries: sessions.flatMap(({ entries }) => entries),
    questions: sessions.flatMap(({ questions }) => questions),
  };
}

interface Frame {
  readonly id: string;
  readonly number: number;
  readonly session: number;
  readonly speakers: readonly [string, string];
}

function sessionOf({ id, number, session, speakers }: Frame, random: Random) {
  const topic = Array.from({ length: 40 }, () => wordOf(rareRank(random)));
  const startMs =
    FIRST_DAY_MS + ((number * 7) % 300) * DAY_MS + session * below(12, random) * DAY_MS;
  const entries: MemoryEntry[] = [];
  const questions: Question[] = [];
  const add = (content: string) => {
    const turn = entries.length;
    const entry: MemoryEntry = {
      id: `${id}/${session}/${turn}`,
      content,
      sessionId: `${id}/session-${session}`,
      turn,
      kind: "message",
      role: turn % 2 === 0 ? "user" : "assistant",
      speaker: speakers[turn % 2] as string,
      time: new Date(startMs + turn * 2 * MINUTE_MS).toISOString(),
    };
    entries.push(entry);
    return entry;
  };
  while (entries.length < MESSAGES) {
    if (entries.length % 10 === 4) {
      const words = [oneOf(topic, random), oneOf(topic, random)];
      const other = speakers[(entries.length + 1) % 2];
      add(`So ${other}, what about the ${words.join(" and the ")}?`);
      const answer = add(message([], random));
      questions.push({
        text: `What did ${answer.speaker} ${verb(random)} about the ${inflected(words[0] ?? "", random)} and the ${words[1]}?`,
        relevant: [answer.id],
      });
    } else add(message(topic, random));
  }
  questions.push(
    ...[0, 1, 2].map(() => wordsQuestion(entries, random)),
    speakerQuestion(entries, random),
    unanswerable(random),
  );
  return { entries, questions };
}

/** Asks with two words of a message, inflected in another way. */
function wordsQuestion(entries: readonly MemoryEntry[], random: Random): Question {
  const { id, content, speaker } = oneOf(entries.filter(isTelling), random);
  const words = [0, 1].map(() => inflected(oneOf(stemsOf(content), random), random));
  return {
    text: `What did ${speaker} ${verb(random)} about ${words[0]} and the ${words[1]}?`,
    relevant: [id],
  };
}

/** Asks what one speaker said about something, in the month of the session. */
function speakerQuestion(entries: readonly MemoryEntry[], random: Random): Question {
  const { content, speaker, time = "" } = oneOf(entries.filter(isTelling), random);
  const word = oneOf(stemsOf(content), random);
  const date = new Date(time);
  return {
    text: `What did ${speaker} ${verb(random)} of the ${word} in ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}?`,
    relevant: entries
      .filter((entry) => entry.speaker === speaker && stemsOf(entry.content).includes(word))
      .map(({ id }) => id),
  };
}

/** A frequent word such as "go", "like" or "buy", as questions have. */
function verb(random: Random): string {
  return wordOf(below(100, random));
}

function isTelling({ content }: MemoryEntry): boolean {
  return stemsOf(content).length >= 3;
}

/** Two of its words were never said; a third, a frequent one, was. */
function unanswerable(random: Random): Question {
  const [first, second] = [0, 1].map(() => wordOf(1_000_000 + below(1_000_000, random)));
  return {
    text: `When did they ${verb(random)} the ${first} of the ${second}?`,
    relevant: [],
  };
}

/** The longer content words without their endings; no numbers, no parts of addresses. */
function stemsOf(text: string): string[] {
  return contentWords(text)
    .map((word) => word.replace(/(?:ing|ed|(?<=sh|ch|s)es|s)$/, ""))
    .filter((word) => /^(?!https?$|example$)[a-z]{4,}$/.test(word));
}

/** Words that few texts have. */
function rareRank(random: Random): number {
  return 300 + Math.floor(150 ** (1 + random()));
}

/** Sentences until there are enough words: 22 in the median, from 4 to 160. */
function message(topic: readonly string[], random: Random): string {
  const wordsWanted = Math.min(160, Math.max(4, Math.round(22 * Math.exp(0.7 * normal(random)))));
  const sentences: string[] = [];
  for (let words = 0; words < wordsWanted; ) {
    const length = Math.min(wordsWanted - words, 5 + below(12, random));
    sentences.push(sentence(Math.max(3, length), topic, random));
    words += length;
  }
  return sentences.join(" ");
}

function sentence(length: number, topic: readonly string[], random: Random): string {
  const words = Array.from({ length }, () => {
    const draw = random();
    if (draw < 0.5) return functionWord(random);
    if (draw < 0.66 && topic.length > 0) return inflected(oneOf(topic, random), random);
    if (draw < 0.67) return oddity(random);
    return inflected(wordOf(contentRank(random)), random);
  });
  const text = words.join(" ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${oneOf([".", ".", ".", "?", "!"], random)}`;
}

/** A function call, a path, a number or an address, as in talk about programs. */
function oddity(random: Random): string {
  const [one, other] = [0, 1].map(() => wordOf(contentRank(random)));
  switch (below(4, random)) {
    case 0:
      return `${one}${(other ?? "").charAt(0).toUpperCase()}${(other ?? "").slice(1)}()`;
    case 1:
      return `src/${one}/${other}.ts`;
    case 2:
      return String(below(10_000, random));
    default:
      return `https://${one}.example/${other}`;
  }
}

function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
