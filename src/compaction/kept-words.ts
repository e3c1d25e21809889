import type { WordsReport } from "../core/event.ts";
import {
  indexableText,
  isForgotten,
  isSummary,
  type Message,
  toolResults,
  toolUses,
} from "../core/message.ts";
import { refusalIn } from "../core/refusal.ts";
import { cutMiddle, cutToSize, textSize } from "./cut-text.ts";
import { summaryText, userText } from "./render-transcript.ts";

/** A message of a person that left the history, as the summary carries it on. */
interface Word {
  readonly text: string;
  /** What became of it, from the messages after it: "answered", "changed src/core/event.ts; 1 call failed". */
  readonly outcome: string;
}

/** The words of a history that is being compacted, from the oldest on. */
export interface Words {
  readonly words: readonly Word[];
  /** How many older ones are in no summary any more. */
  readonly left: number;
}

const HEADING = "[What the user said earlier, word for word, oldest first";
const HEADING_END = "]";
const SECTION = /^; (\d+) older ones are found by a search\]\n/;

/** A longer text was pasted for the most part: its beginning and its end stay. */
const PASTED_BYTES = 1_200;

/** The longest text that is kept before any longer one. It has what people ask for in passing. */
const SHORT_CHARACTERS = 120;

/**
 * A summary without the words that an earlier compaction put below it, and those words.
 */
export function splitWords(summary: string): { readonly summary: string } & Words {
  const at = summary.lastIndexOf(`\n\n${HEADING}`);
  if (at < 0) return { summary, words: [], left: 0 };
  const section = summary.slice(at + 2 + HEADING.length);
  const [counted, left = "0"] = SECTION.exec(section) ?? [];
  const lines = section.slice((counted ?? `${HEADING_END}\n`).length);
  const words = lines.split(/\n(?=• )/).map((entry): Word => {
    const [, outcome = "", text = ""] = /^• \[([^\]\n]*)\] ([\s\S]*)$/.exec(entry) ?? [];
    return { outcome, text: text.replaceAll("\n  ", "\n") };
  });
  return { summary: summary.slice(0, at), words, left: Number(left) };
}

/** A message as it is summarised: an earlier summary without the words below it, so that none is summarised. */
export function withoutWords(message: Message): Message {
  if (!isSummary(message) || message.role !== "user" || typeof message.content !== "string") {
    return message;
  }
  const at = message.content.lastIndexOf(`\n\n${HEADING}`);
  return at < 0 ? message : { ...message, content: message.content.slice(0, at) };
}

/** The words in messages that leave: those of earlier summaries, and the user messages but those in `injected`. */
export function wordsIn(
  messages: readonly Message[],
  injected: ReadonlySet<Message> = new Set(),
): Words {
  const before = messages.filter(isSummary).map((message) => splitWords(summaryText(message)));
  const words = requestsIn(messages, injected).map(({ text, outcome }) => ({ text, outcome }));
  return {
    words: [...before.flatMap((earlier) => earlier.words), ...words],
    left: before.reduce((sum, { left }) => sum + left, 0),
  };
}

/** What people typed in messages, with what became of it, oldest first. */
export function requestsIn(
  messages: readonly Message[],
  injected: ReadonlySet<Message> = new Set(),
): readonly (Word & { readonly message: Message })[] {
  const hasAnswers = messages.some(isAnswer);
  const words: (Word & { readonly message: Message })[] = [];
  // People often say several things in a row, and the answer is to all of them.
  let asked: Omit<(typeof words)[number], "outcome">[] = [];
  let work: Message[] = [];
  const close = () => {
    const outcome = outcomeOf(work, hasAnswers);
    words.push(...asked.map((each) => ({ ...each, outcome })));
    asked = [];
    work = [];
  };
  for (const message of messages) {
    if (isSummary(message) || injected.has(message)) continue;
    if (message.role !== "user") {
      if (asked.length > 0) work.push(message);
      continue;
    }
    if (work.length > 0) close();
    const text = userText(message.content).trim();
    if (text !== "" && !isForgotten(text)) asked.push({ text, message });
  }
  close();
  return words;
}

/** Bytes that a section with all these words takes. */
export function wordsBytes({ words }: Words): number {
  if (words.length === 0) return 0;
  return words.reduce((sum, word) => sum + textSize(lineOf(shortened(word))), HEADING_ROOM);
}

/** Room for the heading, with a count. */
const HEADING_ROOM = textSize(`\n\n${HEADING}; 9999999 older ones are found by a search]`);

/**
 * The section below a summary, within `bytesMax` of JSON, or nothing. Short texts stay first, the newest of
 * them before older ones; then longer ones. What has no room is counted.
 */
export function wordsSection(
  { words, left }: Words,
  bytesMax: number,
): { readonly text: string; readonly report: WordsReport } {
  const lines = words.map((word) => ({ word, line: lineOf(shortened(word)) }));
  const newestFirst = [...lines].reverse();
  const isShort = ({ word }: (typeof lines)[number]) => word.text.length <= SHORT_CHARACTERS;
  const chosen = new Set<(typeof lines)[number]>();
  let room = bytesMax - HEADING_ROOM;
  for (const each of [
    ...newestFirst.filter(isShort),
    ...newestFirst.filter((one) => !isShort(one)),
  ]) {
    const size = textSize(each.line);
    if (size > room) continue;
    room -= size;
    chosen.add(each);
  }
  const gone = left + lines.length - chosen.size;
  const kept = lines.filter((each) => chosen.has(each));
  const cut = kept.filter(({ word }) => shortened(word) !== word).length;
  const count = gone === 0 ? "" : `; ${gone} older ones are found by a search`;
  const text =
    kept.length === 0
      ? ""
      : `\n\n${HEADING}${count}${HEADING_END}${kept.map(({ line }) => line).join("")}`;
  return { text, report: { kept: kept.length, cut, left: gone } };
}

function lineOf({ text, outcome }: Word): string {
  return `\n• [${outcome}] ${text.replaceAll("\n", "\n  ")}`;
}

function shortened(word: Word): Word {
  if (textSize(word.text) <= PASTED_BYTES) return word;
  return {
    ...word,
    text: cutToSize(PASTED_BYTES, (bytes) => cutMiddle(word.text, bytes)),
  };
}

/** A tool whose name says that it changes a file. */
const CHANGES = /(?:write|edit|patch|create|delete|remove|move|rename|replace|insert)/i;

/** Files that an outcome names. */
const FILES_MAX = 3;

/** What became of a request, from the messages that answered it. */
function outcomeOf(work: readonly Message[], hasAnswers: boolean): string {
  if (!work.some(isAnswer)) return hasAnswers ? "not answered" : "said";
  const files = new Set(work.flatMap(toolUses).flatMap(changedFile));
  const errors = work.flatMap(toolResults).filter((result) => result.is_error);
  const refused = errors.filter(({ content }) => refusalIn(content)).length;
  const failed = errors.length - refused;
  const named = [...files].slice(0, FILES_MAX).join(", ");
  const more = files.size > FILES_MAX ? ` and ${files.size - FILES_MAX} more` : "";
  const isAnswered = work.some((message) => indexableText(message).trim() !== "");
  const parts = [
    isAnswered ? "answered" : "worked on",
    files.size > 0 ? `changed ${named}${more}` : "",
    failed > 0 ? `${calls(failed)} failed` : "",
    refused > 0 ? `${calls(refused)} refused` : "",
  ];
  return parts.filter(Boolean).join("; ");
}

function calls(count: number): string {
  return `${count} ${count === 1 ? "call" : "calls"}`;
}

function isAnswer({ role }: Message): boolean {
  return role === "assistant" || role === "block_assistant";
}

function changedFile({ name, args }: ReturnType<typeof toolUses>[number]): readonly string[] {
  if (!CHANGES.test(name) || typeof args !== "object" || args === null) return [];
  const { path, file_path, filePath } = args as Readonly<Record<string, unknown>>;
  const file = [path, file_path, filePath].find((value) => typeof value === "string");
  if (typeof file !== "string" || file === "") return [];
  // A bracket would end the outcome.
  return [cutMiddle(file.replace(/[\][\s]+/g, " "), 80, "…")];
}
