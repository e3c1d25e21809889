import type { ScorePart } from "../../core/memory-store.ts";
import { isPerson } from "../passages/indexed-passages.ts";
import {
  ENTRY_SAYS_WHEN,
  type PassageColumns,
  type PassageIndex,
} from "../passages/passage-index.ts";
import { words } from "../words/words.ts";
import type { Question } from "./question.ts";
import { RANKING, type RankingWeights } from "./ranking-weights.ts";

/** A factor for the entry of a slot: how likely it is an answer, apart from its words. */
export interface Likelihood {
  (slot: number): number;
  /** The factors that it consists of. */
  parts(slot: number): ScorePart[];
}

export function likelihoodOf(
  index: PassageIndex,
  question: Question,
  weights: RankingWeights = RANKING,
): Likelihood {
  const { flags } = index.columns;
  const { asksForAnswers, asksWhen, time: inTime } = question;
  const others = asksForAnswers ? [] : OTHERS.flatMap((label) => index.labelNumber(label) ?? []);
  const isNamed = speakersNamed(index, question);
  const newest = inTime ? newestTime(index) : 0;

  const speakerOf = (slot: number) => index.details(slot).speaker[slot] ?? 0;
  const otherOf = (slot: number) => {
    const role = index.details(slot).role[slot] ?? 0;
    return others.find((label) => label === role || label === speakerOf(slot));
  };
  const withoutTime = (slot: number) => asksWhen && ((flags[slot] ?? 0) & ENTRY_SAYS_WHEN) === 0;
  const fromTime = (slot: number) =>
    inTime?.(index.details(slot).time[slot] ?? Number.NaN, newest) ?? false;

  const likelihood = (slot: number) =>
    (isNamed(speakerOf(slot)) ? weights.speakerNamed : 1) *
    (otherOf(slot) === undefined ? 1 : weights.assistant) *
    (withoutTime(slot) ? weights.withoutTime : 1) *
    (fromTime(slot) ? timeWeight(question, weights) : 1);
  const parts = (slot: number) => {
    const found: ScorePart[] = [];
    const named = speakerOf(slot);
    if (isNamed(named)) {
      found.push({
        name: "speaker named",
        of: index.label(named) ?? "",
        times: weights.speakerNamed,
      });
    }
    const other = otherOf(slot);
    if (other !== undefined) {
      found.push({ name: "role", of: index.label(other) ?? "", times: weights.assistant });
    }
    if (withoutTime(slot)) found.push({ name: "says no time", times: weights.withoutTime });
    if (fromTime(slot))
      found.push({ name: "from that time", times: timeWeight(question, weights) });
    return found;
  };
  return Object.assign(likelihood, { parts });
}

/** Roles and speakers that decide nothing: models, tools, files and programs. */
const OTHERS: readonly string[] = ["assistant", "model", "tool", "file", "program"];

/** An upper bound of the likelihood. */
export function maxLikelihood(
  question: Question,
  namesSpeaker: boolean,
  weights: RankingWeights,
): number {
  return (
    (namesSpeaker ? weights.speakerNamed : 1) * (question.time ? timeWeight(question, weights) : 1)
  );
}

function timeWeight({ spans }: Question, weights: RankingWeights): number {
  return spans.length > 0 ? weights.inSpan : weights.inTime;
}

/** Tells whether a label is a name that the question has a word of. */
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

/** The time of the newest entry, cached until the columns change. */
function newestTime(index: PassageIndex): number {
  const { columns, slots } = index;
  const known = NEWEST.get(columns);
  if (known !== undefined) return known;
  let newest = Number.NEGATIVE_INFINITY;
  const { time } = index.details(0, slots);
  for (let slot = 0; slot < slots; slot += 1) {
    const at = time[slot] as number;
    if (at > newest && columns.session[slot] !== 0) newest = at;
  }
  NEWEST.set(columns, newest);
  return newest;
}

const NEWEST = new WeakMap<PassageColumns, number>();
