import type { ScorePart } from "../core/memory-store.ts";
import { isPerson } from "./is-person.ts";
import { ENTRY_SAYS_WHEN, type PassageColumns, type PassageIndex } from "./passage-index.ts";
import type { Question } from "./question.ts";
import { RANKING, type RankingWeights } from "./ranking-weights.ts";
import { words } from "./words.ts";

/** What makes the entry of a slot a likelier or less likely answer, whatever its words are. */
export interface Likelihood {
  (slot: number): number;
  parts(slot: number): ScorePart[];
}

export function likelihoodOf(
  index: PassageIndex,
  question: Question,
  weights: RankingWeights = RANKING,
): Likelihood {
  const { role, speaker, flags, time } = index.columns;
  const { asksForAnswers, asksWhen, time: inTime } = question;
  const assistant = asksForAnswers ? undefined : index.labelNumber("assistant");
  const isNamed = speakersNamed(index, question);
  const newest = inTime ? newestTime(index.columns) : 0;

  const byAssistant = (slot: number) =>
    assistant !== undefined && (role[slot] === assistant || speaker[slot] === assistant);
  const withoutTime = (slot: number) => asksWhen && ((flags[slot] ?? 0) & ENTRY_SAYS_WHEN) === 0;
  const fromTime = (slot: number) => inTime?.(time[slot] ?? Number.NaN, newest) ?? false;

  const likelihood = (slot: number) =>
    (isNamed(speaker[slot] ?? 0) ? weights.speakerNamed : 1) *
    (byAssistant(slot) ? weights.assistant : 1) *
    (withoutTime(slot) ? weights.withoutTime : 1) *
    (fromTime(slot) ? weights.inTime : 1);
  const parts = (slot: number) => {
    const found: ScorePart[] = [];
    const named = speaker[slot] ?? 0;
    if (isNamed(named)) {
      found.push({
        name: "speaker named",
        of: index.label(named) ?? "",
        times: weights.speakerNamed,
      });
    }
    if (byAssistant(slot)) found.push({ name: "role", of: "assistant", times: weights.assistant });
    if (withoutTime(slot)) found.push({ name: "says no time", times: weights.withoutTime });
    if (fromTime(slot)) found.push({ name: "from that time", times: weights.inTime });
    return found;
  };
  return Object.assign(likelihood, { parts });
}

/** No likelihood is larger. */
export function mostLikely(
  question: Question,
  namesSpeaker: boolean,
  weights: RankingWeights,
): number {
  return (namesSpeaker ? weights.speakerNamed : 1) * (question.time ? weights.inTime : 1);
}

/** Whether a label is the name of somebody, and a word of it one of the question's. */
function speakersNamed(index: PassageIndex, question: Question): (label: number) => boolean {
  const asked = new Set(question.words);
  const known = new Map<number, boolean>();
  return (label) => {
    const before = known.get(label);
    if (before !== undefined) return before;
    const name = index.label(label);
    const named = isPerson(name) && words(name).some((word) => asked.has(word));
    known.set(label, named);
    return named;
  };
}

/** The time of the newest entry. Read once: a store gives other columns when they change. */
function newestTime(columns: PassageColumns): number {
  const known = NEWEST.get(columns);
  if (known !== undefined) return known;
  let newest = Number.NEGATIVE_INFINITY;
  for (let slot = 0; slot < columns.time.length; slot += 1) {
    const time = columns.time[slot] as number;
    if (time > newest && columns.session[slot] !== 0) newest = time;
  }
  NEWEST.set(columns, newest);
  return newest;
}

const NEWEST = new WeakMap<PassageColumns, number>();
