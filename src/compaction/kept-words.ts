import type { WordsReport } from "../core/event.ts";
import { given } from "../core/fields.ts";
import {
  indexableText,
  isForgotten,
  isSummary,
  type Message,
  toolResults,
  toolUses,
} from "../core/message.ts";
import { looksRecalled } from "../core/recalled.ts";
import { refusalIn } from "../core/refusal.ts";
import { isNamedIn, speakerName } from "../core/speaker-name.ts";
import { cutMiddle, cutToSize, textSize } from "./cut-text.ts";
import { GENERAL_CUE, LASTING_CUES, lastingCues, SURE_CUES, WEAK_CUES } from "./lasting-cues.ts";
import { summaryText, userText } from "./render-transcript.ts";

/** A message of a person that left the history, as the summary carries it on. */
interface Word {
  readonly text: string;
  /** Its outcome, from the messages after it: "answered", "changed src/core/event.ts; 1 call failed". */
  readonly outcome: string;
  /** The name of who said it, if the host or the log has it. */
  readonly by?: string;
}

/** The names of those who wrote messages. No name is read from a text. */
export type Speakers = ReadonlyMap<Message, string>;

/** The words of a history that is being compacted, from the oldest on. */
export interface Words {
  readonly words: readonly Word[];
  /** How many older ones are in no summary any more. */
  readonly left: number;
}

const HEADING = "[What the user said earlier, word for word, oldest first";
const HEADING_END = "; answered where nothing else is said]";
const SECTION =
  /^(?:; (\d+) older ones? (?:is|are) found by a search)?(?:; by ([^\];\n]+))?(?:; answered where nothing else is said)?\]\n/;
/** It is said for all of them in the heading. */
const ANSWERED = "answered";

/** A longer text was pasted for the most part: its beginning and its end stay. */
const PASTED_BYTES = 1_200;

/** The longest text that is kept before any longer one. It has what people ask for in passing. */
const SHORT_CHARACTERS = 120;

/** The part of the room that sentences of longer texts may take before short texts. */
const SURE_PART = 1 / 10;

/** The first text of a session says what it is about, so it stays in this part of the room: whole, if it has at most so many bytes. */
const FIRST_PART = 1 / 5;
const FIRST_BYTES = 600;

/** Longer texts stay whole while all of them together take at most this part of the room. */
const WHOLE_PART = 1 / 10;

/** Sentences of other longer texts that may hold for longer stay up to this part. */
const LASTING_PART = 2 / 5;

/** Sentences with one weak cue that they may, and then general ones, up to this part: "Prices go in euros, without cents." */
const HINTED_PART = 3 / 10;

/** Any other short sentences, up to this part. */
const PASSING_PART = 1 / 4;

/** The longest sentence of a longer text that is kept without the rest. */
const SENTENCE_CHARACTERS = 160;

/** Bytes of the sentences of one text: two or three, and more of those that may hold for longer. */
const EXCERPT_BYTES = 260;
const LASTING_EXCERPT_BYTES = 390;

/**
 * A summary without the words that an earlier compaction put below it, and those words.
 */
export function splitWords(summary: string): { readonly summary: string } & Words {
  const at = summary.lastIndexOf(`\n\n${HEADING}`);
  if (at < 0) return { summary, words: [], left: 0 };
  const section = summary.slice(at + 2 + HEADING.length);
  const [heading = "", left = "0", ofAll] = SECTION.exec(section) ?? [];
  const lines = section.slice(heading.length);
  const words = lines.split(/\n(?=• )/).map((entry): Word => {
    const [, mark = "", text = ""] = ENTRY.exec(entry) ?? [];
    const [, by = ofAll, outcome = ""] = MARK.exec(mark) ?? [];
    return {
      ...given({ by }),
      outcome: outcome === "" ? ANSWERED : outcome,
      text: text.replaceAll("\n  ", "\n"),
    };
  });
  return { summary: summary.slice(0, at), words, left: Number(left) };
}

const ENTRY = /^• (?:\[([^\]\n]*)\] )?([\s\S]*)$/;

/** What stands in brackets: who said it, and what became of it. */
const MARK = /^(?:by ([^;]+)(?:; |$))?(.*)$/;

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
  speakers: Speakers = new Map(),
): Words {
  const before = messages.filter(isSummary).map((message) => splitWords(summaryText(message)));
  const words = requestsIn(messages, injected).map(({ text, outcome, message }): Word => {
    return { text, outcome, ...given({ by: speakerName(speakers.get(message)) }) };
  });
  return {
    words: [...before.flatMap((earlier) => earlier.words), ...words],
    left: before.reduce((sum, { left }) => sum + left, 0),
  };
}

/**
 * A summary whose lines say what became of a question, where they repeat one of the messages that leave word for word:
 * copied alone, it would look open. A question that it copies from what else the model was `shown` leaves it: a message
 * that stays has it, or it is a quote from memory.
 */
export function withOutcomes(
  summary: string,
  leaving: readonly Message[],
  { words }: Words,
  shown: readonly Message[] = [],
): string {
  const outcomes = new Map<string, string>();
  for (const message of shown) {
    for (const question of questionsIn(shownText(message))) outcomes.set(question, ELSEWHERE);
  }
  for (const earlier of leaving.filter(isSummary).map(summaryText)) {
    for (const [, outcome = "", said = ""] of earlier.matchAll(TOLD)) outcomes.set(said, outcome);
  }
  for (const { text, outcome } of words) {
    for (const question of questionsIn(text)) outcomes.set(question, outcome);
  }
  const lines = summary.split("\n").flatMap((line) => {
    const [, mark = "", said = ""] = LINE.exec(line) ?? [];
    const outcome = outcomes.get(said.trim());
    if (outcome === undefined) return [line];
    return outcome === ELSEWHERE ? [] : [`${mark}[${outcome}] ${said}`];
  });
  return lines.length === 0 ? summary : lines.join("\n");
}

/** Of a question that is not among the words that leave. No outcome of a request is empty. */
const ELSEWHERE = "";

function questionsIn(text: string): readonly string[] {
  return text
    .split(SENTENCE_ENDS)
    .map((sentence) => sentence.trim())
    .filter((sentence) => QUESTION.test(sentence));
}

/** What people typed, or records of memory without the names before them. */
function shownText(message: Message): string {
  if (message.role !== "user" || isSummary(message)) return "";
  const text = userText(message.content);
  return looksRecalled(text) ? text.replace(/^- [^:\n]{1,80}: /gm, "") : text;
}

/** A line of an earlier summary with a question, and what became of it. */
const TOLD = /^[ \d*.)•-]{0,12}\[([^\]\n]{1,300})\] ([^\n]+[?？])$/gm;

/** A line, and what makes it one of a list. */
const LINE = /^( {0,8}(?:[-*•] |\d{1,3}[.)] )?)(.+)$/;

/** The words that people typed in messages, each with its outcome, oldest first. */
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

/** Bytes that a section takes which may have this many. */
export function wordsBytes(words: Words, bytesMax: number): number {
  const { text } = wordsSection(words, bytesMax);
  // The count may get longer.
  return text === "" ? 0 : textSize(text) + COUNT_ROOM;
}

/** Room for a count in the heading. */
const COUNT_ROOM = textSize(headingOf(9_999_999)) - textSize(headingOf(0));

interface Line {
  readonly word: Word;
  readonly line: string;
  /** Whether it is the text, and not some of its sentences. */
  readonly isWhole?: boolean;
}

/**
 * The section below a summary, within `bytesMax` of JSON and the `room` that there is, or nothing. First comes the first text
 * of the session, then sentences of longer texts that surely hold for longer, then short texts, the newest before older
 * ones. Of what is left whole longer texts take a part, and sentences of still others:
 *
 *     ├── what surely holds ──┤
 *     ├── short texts ───────────────────────────────────────────┤ bytesMax
 *     ├── whole longer texts ──┤
 *     ├── other sentences ──┼── with a weak cue, then general ones ──┼── what may hold ──┤
 *
 * Words without room are counted.
 */
export function wordsSection(
  { words, left }: Words,
  bytesMax: number,
  room = bytesMax,
): { readonly text: string; readonly report: WordsReport } {
  const chosen = new Map<Word, Line>();
  const ofAll = speakerOfAll(words);
  const lineOf = (word: Word) => wholeLine(word, ofAll);
  let used = textSize(headingOf(0, ofAll)) + COUNT_ROOM;
  const add = (part: number, of: readonly Word[], form: (word: Word) => Line | undefined) => {
    const max = Math.min(room, part * bytesMax);
    for (const word of of) {
      if (used >= max) return;
      const earlier = chosen.get(word);
      const line = earlier?.isWhole ? undefined : form(word);
      if (!line) continue;
      const size = textSize(line.line) - textSize(earlier?.line ?? "");
      if (size <= 0 || used + size > max) continue;
      used += size;
      chosen.set(word, line);
    }
  };
  const newestFirst = [...words].reverse();
  const short = newestFirst.filter(isShort);
  const long = newestFirst.filter((word) => !isShort(word));
  const excerptOf = excerpts(ofAll);
  add(FIRST_PART, words.slice(0, 1), (word) =>
    textSize(word.text) <= FIRST_BYTES ? lineOf(word) : excerptOf(word, -Infinity),
  );
  add(SURE_PART, long, (word) => excerptOf(word, SURE_CUES));
  add(1, short, (word) => (isLasting(word) ? lineOf(word) : undefined));
  add(1, short, lineOf);
  add(WHOLE_PART, long, lineOf);
  add(LASTING_PART, long, (word) => excerptOf(word, LASTING_CUES));
  add(HINTED_PART, long, (word) => excerptOf(word, WEAK_CUES));
  add(HINTED_PART, long, (word) => excerptOf(word, GENERAL_CUE));
  add(PASSING_PART, long, (word) => excerptOf(word, -Infinity));
  const gone = left + words.length - chosen.size;
  const kept = words.flatMap((word) => chosen.get(word) ?? []);
  const cut = kept.filter(({ word, line }) => line !== renderLine(word, word.text, ofAll)).length;
  const text =
    kept.length === 0 ? "" : `${headingOf(gone, ofAll)}${kept.map(({ line }) => line).join("")}`;
  return { text, report: { kept: kept.length, cut, left: gone } };
}

function headingOf(gone: number, ofAll?: string): string {
  const count =
    gone === 0 ? "" : `; ${gone} older ${gone === 1 ? "one is" : "ones are"} found by a search`;
  const by = ofAll === undefined ? "" : `; by ${ofAll}`;
  return `\n\n${HEADING}${count}${by}${HEADING_END}`;
}

/** The name that the heading has, so that no line needs it: all words are of one person. */
function speakerOfAll([first, ...others]: readonly Word[]): string | undefined {
  return others.every(({ by }) => by === first?.by) ? first?.by : undefined;
}

function isShort({ text }: Word): boolean {
  return text.length <= SHORT_CHARACTERS;
}

function isLasting({ text }: Word): boolean {
  return lastingCues(text) >= LASTING_CUES && !QUESTION.test(text);
}

/** A text on a line of its own, and of a pasted one the two ends. */
function wholeLine(word: Word, ofAll: string | undefined): Line {
  const { text } = word;
  const shown =
    textSize(text) <= PASTED_BYTES
      ? text
      : cutToSize(PASTED_BYTES, (bytes) => cutMiddle(text, bytes));
  return { word, line: renderLine(word, shown, ofAll), isWhole: true };
}

/**
 * Writes short sentences of a text, of those that have `least` cues that they hold for longer. Such sentences come first, then
 * those with numbers and names. Questions have had their answers.
 */
function excerpts(ofAll: string | undefined): (word: Word, least: number) => Line | undefined {
  const read = new Map<Word, readonly Sentence[]>();
  return (word, least) => {
    const all = read.get(word) ?? sentencesOf(word);
    read.set(word, all);
    let room = least < LASTING_CUES ? EXCERPT_BYTES : LASTING_EXCERPT_BYTES;
    const chosen = new Set(
      all
        .filter(({ cues }) => cues >= least)
        .toSorted((a, b) => b.worth - a.worth)
        .filter(({ text }) => {
          room -= textSize(text) + 3;
          return room >= 0;
        }),
    );
    if (chosen.size === 0) return undefined;
    const shown = joined(all, chosen);
    return { word, line: renderLine(word, shown, ofAll), isWhole: shown === word.text };
  };
}

interface Sentence {
  readonly text: string;
  readonly cues: number;
  readonly worth: number;
  /** Its place among all sentences of the text, and what stands before it there. */
  readonly place: number;
  readonly gap: string;
}

function sentencesOf({ text }: Word): readonly Sentence[] {
  // Sentences stand at even places, and what parts them at odd ones.
  const parts = text.split(SENTENCE_ENDS);
  let isFenced = false;
  return parts.flatMap((sentence, at): readonly Sentence[] => {
    if (at % 2 === 1) return [];
    const isFence = FENCE.test(sentence);
    if (isFence) isFenced = !isFenced;
    if (isFence || isFenced || QUOTED.test(sentence) || !isDemandLike(sentence)) return [];
    const cues = lastingCues(sentence);
    // What has a cue comes first, so that a longer excerpt of a text has all that a shorter one has.
    const worth = Math.max(0, Math.min(cues, LASTING_CUES)) + Number(SPECIFIC.test(sentence)) / 4;
    return [{ text: sentence, cues, worth, place: at / 2, gap: parts[at - 1] ?? "" }];
  });
}

/** Without their surroundings, quotes and code would stand as the person's own words. */
const QUOTED = /^\s*[>＞|]/;
const FENCE = /^\s*(?:```|~~~)/;

/** The chosen sentences, with a mark only where something between them was left out. */
function joined(all: readonly Sentence[], chosen: ReadonlySet<Sentence>): string {
  let text = "";
  let next = 0;
  for (const sentence of all) {
    if (!chosen.has(sentence)) continue;
    const gap = sentence.place === next ? sentence.gap : OMITTED;
    text += text === "" ? sentence.text : gap + sentence.text;
    next = sentence.place + 1;
  }
  return text;
}

const OMITTED = " … ";

/** A number, or a name that is not the first word. */
const SPECIFIC = /\p{N}|[`_/@]|.\s\p{Lu}\p{L}/u;

const SENTENCE_ENDS = /((?<=[.!?])\s+(?:… )?|(?<=[。！？])|\n+| … )/;

/** "The wiki says:" says nothing without what follows. */
const ANNOUNCES = /[:：]$/;

/** Whether a sentence is short, is no question, and has words. */
function isDemandLike(sentence: string): boolean {
  const text = sentence.trim();
  if (text.length > SENTENCE_CHARACTERS || !/\p{L}.{6}/su.test(text)) return false;
  return !QUESTION.test(text) && !ANNOUNCES.test(text);
}

const QUESTION = /[?？]$/;

function renderLine({ outcome, by }: Word, text: string, ofAll: string | undefined): string {
  // Where a program put the name into the text, it need not stand twice.
  const name = by === ofAll || by === undefined || isNamedIn(text, by) ? "" : `by ${by}`;
  // A text in brackets would be taken for its outcome.
  const isPlain = outcome === ANSWERED && (name !== "" || !text.startsWith("["));
  const mark = [name, isPlain ? "" : outcome].filter(Boolean).join("; ");
  return `\n• ${mark === "" ? "" : `[${mark}] `}${text.replaceAll("\n", "\n  ")}`;
}

/** A tool whose name says that it changes a file. */
const CHANGES = /(?:write|edit|patch|create|delete|remove|move|rename|replace|insert)/i;

/** Files that an outcome names. */
const FILES_MAX = 3;

/** The outcome of a request, from the messages that answered it. */
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
    isAnswered ? ANSWERED : "worked on",
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
