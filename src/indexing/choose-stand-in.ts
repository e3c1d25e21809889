import type { OpenIndex } from "./open-index.ts";
import type { StandIn } from "./score/question-evidence.ts";
import type { CompoundPart } from "./words/compounds.ts";
import { isSlip, type NearWord } from "./words/near-words.ts";

/** Weights of words that stand for another one, which has the weight 1. */
export const COUNTS = {
  spelling: 1,
  beginning: 0.9,
  otherForm: 0.85,
  parts: 0.9,
  compound: 0.8,
  root: 0.6,
  near: [1, 0.7, 0.5],
} as const;
/** The most words that stand for one. */
const NEAR_MAX = 3;

/** Words of the store that may stand for one of a question. */
export interface Candidates {
  readonly word: string;
  readonly form: string;
  readonly isUnknown: boolean;
  /** The question tells its language. */
  readonly isTold: boolean;
  /** The question may be in another language than English. */
  readonly isForeign: boolean;
  /** Its other spellings, which the index has looked up. */
  readonly otherForms: readonly string[];
  /** Other forms of the word. */
  readonly forms: readonly string[];
  /** Compounds that it is a part of. */
  readonly compounds: readonly string[];
  /** Its own parts. */
  readonly parts: readonly CompoundPart[];
  /** Words with the same root. */
  readonly root: readonly string[];
  readonly near: readonly NearWord[];
  readonly spellings: readonly string[];
  readonly beginning: string | undefined;
  readonly isEnglish: boolean;
}

/** The best of the words that may stand for one of a question; `undefined` when it stands for itself, or nothing does. */
export function bestOf(index: OpenIndex, candidates: Candidates): StandIn | undefined {
  const { word, isUnknown, isTold, compounds, parts, root, spellings, beginning, isForeign } =
    candidates;
  const count = (one: string) => index.postings(one).slots.length;
  const standIn = (forms: readonly string[], counts: number): StandIn | undefined =>
    forms.length > 0 ? { word, forms, counts, isNear: false } : undefined;
  const inStore = (forms: readonly string[]) => forms.filter((one) => count(one) > 0);
  const forms = inStore(candidates.forms);
  const near = isUnknown ? nearest(candidates, count) : undefined;
  if (!isUnknown) return standIn(withOwn(candidates, [...forms, ...inStore(compounds)]), 1);
  return (
    standIn(inStore(spellings), COUNTS.spelling) ??
    (beginning === undefined ? undefined : standIn(inStore([beginning]), COUNTS.beginning)) ??
    (isTold ? undefined : withNear(standIn(forms, COUNTS.otherForm), near)) ??
    standIn(forms, COUNTS.spelling) ??
    standIn(inStore(compounds), COUNTS.compound) ??
    (!isTold && near?.isSure ? near : undefined) ??
    withParts(word, parts) ??
    (near && !near.isNear ? near : undefined) ??
    (isTold && isForeign ? standIn(inStore(root), COUNTS.root) : undefined) ??
    near ??
    standIn(inStore(root), COUNTS.root)
  );
}

/** In a language that is not known, the forms of a word may be of another one, and the word is one with a typo. */
function withNear(forms: StandIn | undefined, near: StandIn | undefined): StandIn | undefined {
  if (!forms || !near || near.counts < forms.counts - 0.2) return forms;
  return { ...near, forms: [...new Set([...forms.forms, ...near.forms])] };
}

/** None when the word stands for itself alone. */
function withOwn({ form, otherForms }: Candidates, others: readonly string[]): readonly string[] {
  return others.length > 0 ? [...new Set([form, ...otherForms, ...others])] : [];
}

function withParts(word: string, parts: readonly CompoundPart[]): StandIn | undefined {
  if (parts.length === 0) return undefined;
  return {
    word,
    forms: parts.flatMap(({ forms }) => forms),
    counts: COUNTS.parts,
    isNear: false,
    parts,
  };
}

function nearest(
  { word, form, near, isEnglish }: Candidates,
  count: (word: string) => number,
): StandIn | undefined {
  const best = near
    .filter((one) => count(one.word) > 0)
    .sort((one, other) => count(other.word) - count(one.word) || (one.word < other.word ? -1 : 1))
    .slice(0, NEAR_MAX);
  const [first] = best;
  if (!first) return undefined;
  const forms = best.map((one) => one.word);
  if (!isEnglish && forms.every((other) => isOtherForm(form, other))) {
    return { word, forms, counts: COUNTS.otherForm, isNear: false };
  }
  const isSure = best.some((other) => other.edits === 1 && isSlip(form, other.word));
  return { word, forms, counts: COUNTS.near[first.edits] ?? 0.5, isNear: true, isSure };
}

/** Whether only the last letters differ, as in the forms of a word that is not stemmed: сервер and сервере. */
function isOtherForm(one: string, other: string): boolean {
  const shared = Math.max(one.length, other.length) - 2;
  return one.slice(0, shared) === other.slice(0, shared);
}
