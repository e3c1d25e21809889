import { contentWords } from "../compaction/content-words.ts";

/** A prompt with fewer words of its own, such as "go on", is read with the one before it and the goal. */
const OWN_WORDS_MIN = 2;
/** Characters of a long prompt that are looked for, from its beginning and from its end. */
const QUERY_CHARACTERS = 1_000;

/** A prompt, and what tells what it is about when it has few words of its own. */
export interface AskedPrompt {
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
