import { contentWords } from "../compaction/content-words.ts";
import type { MemoryEntry } from "../core/memory-store.ts";
import { contentText, indexableText, isSummary, type Message } from "../core/message.ts";
import { utf8Bytes } from "../core/tokens.ts";
import { isAscii } from "../text/character-kinds.ts";

/** UTF-8 bytes of a record. A longer text is cut to the passage with the words of the prompt. */
const RECORD_BYTES_MAX = 640;

/** A text as one line, so that no quote can look like a heading or another record. */
export function oneLine(text: string): string {
  // Most texts are one already, and looking takes less time than making one.
  return NO_LINE.test(text) ? text.replaceAll(/\s+/g, " ").trim() : text;
}

/** White space that is no single space between two words. */
const NO_LINE = /[^\S ]| {2}|^ | $/;

/** The sentences around the one with the most of these words. A short text stays whole. */
export function quotedPassage(text: string, words: ReadonlySet<string>): string {
  // No text has fewer bytes than `length`.
  if (text.length <= RECORD_BYTES_MAX && utf8Bytes(text) <= RECORD_BYTES_MAX) return text;
  const sentences = sentencesOf(text);
  const worth = sentences.map((sentence) => wordsShared(sentence, words));
  const best = Math.max(0, worth.indexOf(Math.max(...worth)));
  let [from, to] = [best, best + 1];
  let bytes = utf8Bytes(sentences[best] ?? "");
  for (let side = 0; side < 2 * sentences.length; side += 1) {
    const next = side % 2 === 0 ? to : from - 1;
    const size = utf8Bytes(sentences[next] ?? "");
    if (size === 0 || bytes + size > RECORD_BYTES_MAX) continue;
    if (side % 2 === 0) to += 1;
    else from -= 1;
    bytes += size;
  }
  const start = from > 0 ? "… " : "";
  const end = to < sentences.length ? " …" : "";
  return start + sentences.slice(from, to).join("").trim() + end;
}

/** Tells whether messages show an entry of memory: as one of them, or quoted in a summary. */
export function shownBy(
  messages: readonly Message[],
): (entry: Pick<MemoryEntry, "content">) => boolean {
  const texts = new Set(messages.filter((message) => !isSummary(message)).map(lineOf));
  const summaries = messages.filter(isSummary).map(lineOf);
  return ({ content }) => {
    const text = oneLine(content);
    return texts.has(text) || summaries.some((summary) => hasAll(summary, text));
  };
}

/** Messages stay the same objects from one prompt to the next, and a summary is long. */
const LINES = new WeakMap<Message, string>();

/** The text of a message as one line: all of a summary, and of others what memory has of them. */
function lineOf(message: Message): string {
  const known = LINES.get(message);
  if (known !== undefined) return known;
  const isQuoting = message.role === "user" && isSummary(message);
  const line = oneLine(isQuoting ? contentText(message.content) : indexableText(message));
  LINES.set(message, line);
  return line;
}

/** Whether a summary has a text, or all of its sentences but the shortest ("Hi!"). */
function hasAll(summary: string, text: string): boolean {
  if (summary.includes(text)) return true;
  let hasTelling = false;
  // Most texts end here with their first sentence.
  for (const [found] of text.matchAll(SENTENCE)) {
    const sentence = found.trim();
    if (sentence.length < TELLING_CHARACTERS) continue;
    if (!summary.includes(sentence)) return false;
    hasTelling = true;
  }
  return hasTelling;
}

const TELLING_CHARACTERS = 12;

/** The sentences of a text, and the parts of long ones. */
export function sentencesOf(text: string): readonly string[] {
  return text.match(SENTENCE) ?? [];
}

/** How many of the words a text has. */
export function wordsShared(sentence: string, words: ReadonlySet<string>): number {
  const shared = new Set<string>();
  // Most sentences have none, and looking takes less time than reading.
  if (isAscii(sentence) && !hasAny(sentence.toLowerCase(), words)) return 0;
  for (const word of contentWords(sentence)) if (words.has(word)) shared.add(word);
  return shared.size;
}

function hasAny(text: string, words: ReadonlySet<string>): boolean {
  for (const word of words) if (text.includes(word)) return true;
  return false;
}

/** A sentence, or a part of a long one. */
const SENTENCE = /[^.!?。！？]{1,300}[.!?。！？]{0,3}|[.!?。！？]{1,300}/gu;
