import { contentWords } from "../compaction/content-words.ts";
import { bestMatchOf, type MemoryStore } from "../core/memory-store.ts";
import { oneLine } from "./quoted-passage.ts";

/** No bar is lower, and a memory without prompts of other sessions has this one. */
export const BAR_LEAST = 0.42;
/** No bar is higher: in a project where all sessions are about one thing, their prompts are no measure of chance. */
const BAR_MOST = 0.7;

/** The share of unrelated prompts that may recall anything. */
const UNRELATED_PART = 1 / 10;

/** Prompts that a bar is measured with: of the oldest in memory, so that they stay the same while it grows. */
const PROMPTS = 24;
const PROMPTS_MIN = 8;
const LISTED = 400;

/** A bar is measured again when there is this many times as much as then. */
const GROWTH = 2;

/** Whether a bar that was measured with `then` messages or events is true for `now`. */
export function isStillTrue(then: number, now: number): boolean {
  return now < GROWTH * then;
}

/**
 * Measures the match that the best record needs before anything comes back: at most one in ten prompts of other
 * sessions, which are about something else, reaches it. In a large memory a chance match scores higher than in a small
 * one, so each memory has its own. With a session's id, records are of that session only.
 */
export async function measureBar(
  memory: Pick<MemoryStore, "list" | "search">,
  sessionId?: string,
): Promise<number> {
  const listed = await memory.list({
    limit: LISTED,
    role: "user",
    kind: "message",
    ...(sessionId === undefined ? {} : { sessions: { except: [sessionId] } }),
  });
  const prompts = evenly(
    listed.filter(({ content }) => saysSomething(content)),
    PROMPTS,
  );
  const scores: number[] = [];
  for (const prompt of prompts) {
    const query = recallQuery({ prompt: prompt.content });
    const among =
      sessionId === undefined ? { sessions: { except: [prompt.sessionId] } } : { sessionId };
    const hits = await memory.search({ query, limit: 3, ...among });
    // A prompt that was given twice is no chance match.
    const text = oneLine(prompt.content);
    scores.push(bestMatchOf(hits.filter(({ content }) => oneLine(content) !== text)));
  }
  return barOver(scores);
}

/** The bar that at most one in ten of these scores reaches, in thousandths. */
export function barOver(scores: readonly number[]): number {
  if (scores.length < PROMPTS_MIN) return BAR_LEAST;
  const highest = scores.toSorted((one, other) => other - one);
  const over = highest[Math.floor(scores.length * UNRELATED_PART)] ?? 0;
  return Math.min(BAR_MOST, Math.max(BAR_LEAST, (Math.floor(1000 * over) + 1) / 1000));
}

function evenly<Item>(items: readonly Item[], count: number): readonly Item[] {
  if (items.length <= count) return items;
  return Array.from(
    { length: count },
    (_, index) => items[Math.floor((index * items.length) / count)] as Item,
  );
}

/** A prompt with fewer words of its own, such as "go on", is read with the one before it and the goal. */
const OWN_WORDS_MIN = 2;
/** Characters of a long prompt that are looked for, from its beginning and from its end. */
const QUERY_CHARACTERS = 1_000;

/** A prompt, and what tells what it is about when it has few words of its own. */
interface AskedPrompt {
  readonly prompt: string;
  /** The prompt before it. */
  readonly before?: string | undefined;
  /** The goal in the task record. */
  readonly goal?: string | undefined;
}

/** The text to look for in memory; empty when there is nothing to look for. */
export function recallQuery({ prompt, before = "", goal = "" }: AskedPrompt): string {
  const own = ends(prompt);
  if (saysSomething(own)) return own;
  return [goal, ends(before), own].join("\n").trim();
}

/** Whether a text has words of its own. "Noted." has not. */
export function saysSomething(text: string): boolean {
  const own = new Set<string>();
  for (const word of contentWords(text)) if (own.add(word).size >= OWN_WORDS_MIN) return true;
  return false;
}

function ends(text: string): string {
  if (text.length <= 2 * QUERY_CHARACTERS) return text;
  return `${text.slice(0, QUERY_CHARACTERS)}\n${text.slice(-QUERY_CHARACTERS)}`.toWellFormed();
}
