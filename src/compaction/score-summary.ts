import { isSummary, type Message } from "../core/message.ts";
import { startsTurn } from "../core/turn.ts";
import { anchorsIn } from "./anchors.ts";
import { contentWords, namesIn } from "./content-words.ts";
import { twoEnds } from "./cut-text.ts";
import { mentions, rankAnchors, textsOf } from "./keep-anchors.ts";
import { isCopyOfRecord, type Worthlessness, worthlessness } from "./worthless-text.ts";

/** Why a summary is worth nothing. */
export type RejectedSummary = Worthlessness | "unrelated";

/** The worth of a summary, measured without a model. */
export interface SummaryScore {
  /** From 0, useless, to 1, complete. */
  readonly score: number;
  /** Why it is not taken, if it is not. */
  readonly problem?: RejectedSummary;
}

/** A score below this is that of a text about something else, or about nothing. */
const SCORE_MIN = 0.2;

/** A shorter conversation is too short to judge its summary by. */
const WORDS_TO_JUDGE_BY = 30;

/** A longer text, such as a file that a tool has read, is searched for words at its two ends only. */
const TEXT_CHARACTERS_MAX = 1_000_000;

const ANCHORS_MAX = 16;
const TERMS_MAX = 24;
const REQUESTS_MAX = 12;

/** The weight of each part. They sum up to 1. */
const WEIGHTS = { about: 0.25, names: 0.25, terms: 0.2, requests: 0.15, anchors: 0.15 } as const;

/**
 * Scores a summary by how much of the discarded messages it covers. Content that the
 * retained messages repeat does not count.
 *
 *     about      share of the summary's words that the conversation has
 *     names      share of the summary's names, paths and numbers that the conversation has
 *     terms      share of the most frequent words that the summary has
 *     requests   share of the last requests that the summary covers
 *     anchors    share of the weightiest paths, names and numbers that the summary has
 *
 * An echo of the prompt or of the record, a refusal, a repetition or a text without words is
 * worth nothing, whatever the conversation.
 */
export function scoreSummary(
  summary: string,
  source: { readonly discarded: readonly Message[]; readonly retained: readonly Message[] },
  asked: string,
): SummaryScore {
  const textsIn = (messages: readonly Message[]) =>
    messages.flatMap(textsOf).map(({ text }) => text);
  const record = textsIn(source.discarded);
  const whole = [...record, ...textsIn(source.retained)].join("\n");
  const problem = worthlessness(summary, asked, whole);
  if (problem) return { score: 0, problem };
  if (isCopyOfRecord(summary, record)) return { score: 0, problem: "echo" };
  const said = new Set(contentWords(summary));
  const rest = wordsIn(source.retained);
  const gone = source.discarded.filter((message) => !isSummary(message));
  const leaving = wordsIn(source.discarded);
  if (leaving.size < WORDS_TO_JUDGE_BY) return { score: 1 };

  const anchors = anchorsOf(source);
  const named = specificsIn(summary);
  const parts = {
    names: partOf(named, (text) => mentions(whole, text)) ?? (anchors.length > 0 ? 0 : undefined),
    about: partOf([...said], (word) => leaving.has(word) || rest.has(word)),
    terms: partOf(mostSaid(leaving, rest), (word) => said.has(word)),
    requests: partOf(requestsIn(gone, rest), (words) => speaksOf(said, words)),
    anchors: partOf(anchors, (text) => mentions(summary, text)),
  };
  let total = 0;
  let weight = 0;
  for (const name of Object.keys(WEIGHTS) as (keyof typeof WEIGHTS)[]) {
    const part = parts[name];
    if (part === undefined) continue;
    total += part * WEIGHTS[name];
    weight += WEIGHTS[name];
  }
  const score = weight === 0 ? 1 : Math.round((total / weight) * 100) / 100;
  return score < SCORE_MIN ? { score, problem: "unrelated" } : { score };
}

/** The part of `items` that holds; nothing where there are none. */
function partOf<Item>(items: readonly Item[], holds: (item: Item) => boolean): number | undefined {
  return items.length === 0 ? undefined : items.filter(holds).length / items.length;
}

/** The words of messages, in the order in which each is said first, with how often it is said. */
function wordsIn(messages: readonly Message[]): Words {
  const counts = new Map<string, number>();
  for (const { text } of messages.flatMap(textsOf)) {
    for (const word of contentWords(twoEnds(text, TEXT_CHARACTERS_MAX)))
      counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

type Words = ReadonlyMap<string, number>;

/** The most frequent words that the retained messages do not have. */
function mostSaid(words: Words, rest: Words): readonly string[] {
  return [...words]
    .filter(([word]) => !rest.has(word))
    .sort((a, b) => b[1] - a[1])
    .slice(0, TERMS_MAX)
    .map(([word]) => word);
}

/** The words of the last user messages, each without the words of the retained messages. */
function requestsIn(messages: readonly Message[], rest: Words): readonly (readonly string[])[] {
  return messages
    .filter(startsTurn)
    .slice(-REQUESTS_MAX)
    .map((message) => [...wordsIn([message]).keys()].filter((word) => !rest.has(word)))
    .filter((words) => words.length > 0);
}

/** Two words of a longer request show that it is spoken of. */
function speaksOf(said: ReadonlySet<string>, words: readonly string[]): boolean {
  const shared = words.filter((word) => said.has(word)).length;
  return shared >= Math.min(2, words.length);
}

/** The names and anchors of a text, which cannot be paraphrased. */
function specificsIn(text: string): readonly string[] {
  return [...new Set([...namesIn(text), ...anchorsIn(text).map((anchor) => anchor.text)])];
}

/** The weightiest anchors that the retained messages do not have. */
function anchorsOf(source: Parameters<typeof scoreSummary>[1]): readonly string[] {
  const kept = new Set(rankAnchors(source.retained).map(({ text }) => text));
  return rankAnchors(source.discarded)
    .map(({ text }) => text)
    .filter((text) => !kept.has(text))
    .slice(0, ANCHORS_MAX);
}
