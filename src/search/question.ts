import { unicodePattern } from "../core/unicode-pattern.ts";
import { MONTHS, type NamedTime, namedTime, saysMay } from "./named-time.ts";
import { STOP_WORDS } from "./stop-words.ts";
import { askedWords } from "./words.ts";

/** What a query asks for. */
export interface Question {
  /** Its words without stop words; all of them when it has no others. Each once, 64 at the most. */
  readonly words: readonly string[];
  /** Those of them that are written like names: with a capital inside a sentence. */
  readonly names: ReadonlySet<string>;
  /** It asks for a time, so texts that name one are likelier answers. */
  readonly asksWhen: boolean;
  /** It asks for what the assistant said, so that is no less likely an answer. */
  readonly asksForAnswers: boolean;
  readonly time: NamedTime | undefined;
}

/** More do not make a result better, only slower. */
const WORDS_MAX = 64;

export function readQuestion(query: string): Question {
  const all = [...new Set(askedWords(query))];
  const isMonth = saysMay(query);
  const telling = all.filter((word) => !STOP_WORDS.has(word) || (word === "may" && isMonth));
  return {
    words: (telling.length > 0 ? telling : all).slice(0, WORDS_MAX),
    names: new Set(askedWords(query.match(CAPITALISED(query))?.join(" ") ?? "")),
    asksWhen: WHEN.test(query),
    asksForAnswers: ANSWERS.test(query),
    time: namedTime(query),
  };
}

/** A word with a capital that is not the first of its sentence. */
const CAPITALISED = unicodePattern(/[A-Z](?<=[^\s.!?]\s+["'(]?[A-Z])[A-Za-z0-9'._-]*/g, {
  source: String.raw`\p{Lu}(?<=[^\s.!?。！？]\s+["'“‘(]?\p{Lu})[\p{L}\p{N}\p{M}'’._-]*`,
  flags: "gu",
});

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

const WHEN =
  /^\W*(when|since when|how long|how (many|much) (hours|days|weeks|months|years|time)|(in |on |at )?(what|which) (date|day|week|month|year|season|time))\b/i;

const ANSWERS =
  /\b(you|the assistant|your) (\w+ )?(said|say|told|tell|suggest|recommend|advise|propose|mention|explain|list|g[ia]ve|write|wrote|recommendation|suggestion|advice|answer)/i;

const TIME_WORD =
  /\b(today|tonight|tomorrow|yesterday|ago|since|recently|just|last|next|this (morning|afternoon|evening|week|weekend|month|year|summer|winter|spring|fall)|(mon|tues|wednes|thurs|fri|satur|sun)day|weekend|weeks?|months?|years?|january|february|march|april|may|june|july|august|september|october|november|december|(19|20)\d\d)\b/i;
