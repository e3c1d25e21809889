import {
  indexableText,
  isForgotten,
  isSummary,
  type Message,
  type ToolUse,
  toolResults,
  toolUses,
} from "../core/message.ts";
import { looksRecalled } from "../core/recalled.ts";
import { refusalIn } from "../core/refusal.ts";
import { areApart } from "../core/speaker-name.ts";
import { filesIn, withoutEffect } from "./changed-files.ts";
import { cutMiddle } from "./cut-text.ts";
import { summaryText, userText } from "./render-transcript.ts";
import { putsOff, takesBack } from "./takes-back.ts";

/** A message of a person that left the history, as the summary carries it on. */
export interface Word {
  readonly text: string;
  /** Its outcome, from the messages after it: "answered", "changed src/core/event.ts; 1 call failed". */
  readonly outcome: string;
  /** The name of who said it, if the host or the log has it. */
  readonly by?: string;
}

/** The outcome of most requests. A section of kept words says it once, in its heading. */
export const ANSWERED = "answered";

/** A request with its message, and the place of that. */
interface Request extends Word {
  readonly message: Message;
  readonly at: number;
}

/** The words that people typed in messages, each with its outcome, oldest first. Only its author takes a request back. */
export function requestsIn(
  messages: readonly Message[],
  injected: ReadonlySet<Message> = new Set(),
  speakers: ReadonlyMap<Message, string> = new Map(),
): readonly Request[] {
  const hasAnswers = messages.some(isAnswer);
  const idle = withoutEffect(messages);
  const words: Request[] = [];
  // People often say several things in a row, and the answer is to all of them.
  let asked: Omit<Request, "outcome">[] = [];
  let work: Message[] = [];
  const close = () => {
    const outcome = outcomeOf(work, hasAnswers, idle);
    words.push(...asked.map((each) => ({ ...each, outcome })));
    asked = [];
    work = [];
  };
  for (const [at, message] of messages.entries()) {
    if (isSummary(message) || injected.has(message)) continue;
    if (message.role !== "user") {
      if (asked.length > 0) work.push(message);
      continue;
    }
    if (work.length > 0) close();
    const text = userText(message.content).trim();
    if (text !== "" && !isForgotten(text)) asked.push({ text, message, at });
  }
  close();
  return words.map((word, index) => {
    const next = words[index + 1];
    const isSame = next && !areApart(speakers.get(next.message), speakers.get(word.message));
    if (!isSame) return word;
    if (takesBack(next.text, word.text)) return ended(word, TAKEN_BACK);
    return putsOff(next.text) ? ended(word, PUT_OFF) : word;
  });
}

/** A request that the next words ended or stopped: the work done before, and not that it is open. */
function ended<Said extends Word>(word: Said, how: string): Said {
  const [first = "", ...done] = word.outcome.split("; ");
  const outcome = [...(first === ANSWERED ? [first] : []), ...done, how].join("; ");
  return { ...word, outcome };
}

/** The outcome of a request that the words after it took back, or replaced in part or as a whole. */
const TAKEN_BACK = "taken back or changed by what was said next";

/** The outcome of a request that waits for a decision of the person. */
const PUT_OFF = "put off by what was said next";

/** Files that an outcome names. */
const FILES_MAX = 3;

/** The outcome of a request, from the messages that answered it. */
function outcomeOf(
  work: readonly Message[],
  hasAnswers: boolean,
  idle: ReadonlySet<string>,
): string {
  if (!work.some(isAnswer)) return hasAnswers ? "not answered" : "said";
  const done = work.flatMap(toolUses).filter(({ id }) => !idle.has(id));
  const files = new Set(done.flatMap(changedFiles));
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

function changedFiles(use: ToolUse): readonly string[] {
  const { files, isChange } = filesIn(use);
  // A bracket would end the outcome.
  return isChange ? files.map((file) => cutMiddle(file.replace(/[\][\s]+/g, " "), 80, "…")) : [];
}

/**
 * A summary whose lines say what became of a question, where they repeat one of the messages that leave word for word:
 * copied alone, it would look open. A question that it copies from what else the model was `shown` leaves it: a message
 * that stays has it, or it is a quote from memory.
 */
export function withOutcomes(
  summary: string,
  leaving: readonly Message[],
  { words }: { readonly words: readonly Word[] },
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

/** The mark of a question that is not among the words that leave. No outcome of a request is empty. */
const ELSEWHERE = "";

function questionsIn(text: string): readonly string[] {
  return text
    .split(SENTENCE_ENDS)
    .map((sentence) => sentence.trim())
    .filter((sentence) => QUESTION.test(sentence));
}

/** People's words, or records of memory without the names before them. */
function shownText(message: Message): string {
  if (message.role !== "user" || isSummary(message)) return "";
  const text = userText(message.content);
  return looksRecalled(text) ? text.replace(/^- [^:\n]{1,80}: /gm, "") : text;
}

/** A line of an earlier summary with a question, and what became of it. */
const TOLD = /^[ \d*.)•-]{0,12}\[([^\]\n]{1,300})\] ([^\n]+[?？])$/gm;

/** A line, and what makes it one of a list. */
const LINE = /^( {0,8}(?:[-*•] |\d{1,3}[.)] )?)(.+)$/;

/** The end of a question. */
export const QUESTION = /[?？]$/;

/** The ends of the sentences of a text. The full stop of "Dr. Okafor", "e.g. this" and "z. B. so" ends none. */
export const SENTENCE_ENDS =
  /((?<=[.!?])(?<!(?<![\p{L}.])(?:Dr|Mrs?|Ms|Prof|St|Mme|Mlle|Sra?|Hr|Fr|Nr|vs|ca|bzw|e\.g|i\.e|z\. ?B|d\. ?h)\.)\s+(?:… )?|(?<=[。！？])|\n+| … )/u;
