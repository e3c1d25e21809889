import { STOP_WORDS } from "./stop-words.ts";
import { askedWords } from "./words.ts";

/** What a query asks for. */
export interface Question {
  /** Its words without stop words; all of them when it has no others. Each once, 64 at the most. */
  readonly words: readonly string[];
  /** It asks for a time, so texts that name one are likelier answers. */
  readonly asksWhen: boolean;
  /** It asks for what the assistant said, so what the user said is no likelier an answer. */
  readonly asksForAnswers: boolean;
  /** The month that it names, as "05" or "2023-05". */
  readonly month: string | undefined;
}

/** More do not make a result better, only slower. */
const WORDS_MAX = 64;

export function readQuestion(query: string): Question {
  const all = [...new Set(askedWords(query))];
  const telling = all.filter((word) => !STOP_WORDS.has(word));
  return {
    words: (telling.length > 0 ? telling : all).slice(0, WORDS_MAX),
    asksWhen: WHEN.test(query),
    asksForAnswers: ANSWERS.test(query),
    month: namedMonth(query),
  };
}

/** Whether a text says when something was. */
export function saysWhen(text: string): boolean {
  return TIME_WORD.test(text);
}

/** The words of a date: "2023-05-08" is may, 2023 and 8. */
export function dateWords(time: string | undefined): string[] {
  const date = /^(\d{4})-(\d\d)-(\d\d)/.exec(time ?? "");
  if (!date) return [];
  const [, year = "", month = "", day = ""] = date;
  return [year, MONTHS[Number(month) - 1] ?? "", String(Number(day))].filter((word) => word !== "");
}

/** Whether a word may be one of a date. */
export function isDateWord(word: string): boolean {
  return /^\d{1,4}$/.test(word) || MONTHS.includes(word);
}

const MONTHS =
  "january february march april may june july august september october november december".split(
    " ",
  );

const WHEN =
  /^\W*(when|since when|how long|how (many|much) (hours|days|weeks|months|years|time)|(in |on |at )?(what|which) (date|day|week|month|year|season|time))\b/i;

const ANSWERS =
  /\b(you|the assistant|your) (\w+ )?(said|say|told|tell|suggest|recommend|advise|propose|mention|explain|list|g[ia]ve|write|wrote|recommendation|suggestion|advice|answer)/i;

const TIME_WORD =
  /\b(today|tonight|tomorrow|yesterday|ago|since|recently|just|last|next|this (morning|afternoon|evening|week|weekend|month|year|summer|winter|spring|fall)|(mon|tues|wednes|thurs|fri|satur|sun)day|weekend|weeks?|months?|years?|january|february|march|april|may|june|july|august|september|october|november|december|(19|20)\d\d)\b/i;

/** "may" is a month only where the words around it say so. */
const MONTH =
  /\b(january|february|march|april|june|july|august|september|october|november|december)\b|\b(?:in|of|on|by|early|mid|late|since|until|during|last|this|next) (may)\b|\b(may),? (?:the )?\d/i;

function namedMonth(query: string): string | undefined {
  const found = MONTH.exec(query);
  if (!found) return undefined;
  const name = (found[1] ?? found[2] ?? found[3] ?? "").toLowerCase();
  const month = String(MONTHS.indexOf(name) + 1).padStart(2, "0");
  const year = /\b(?:19|20)\d\d\b/.exec(query)?.[0];
  return year === undefined ? month : `${year}-${month}`;
}
