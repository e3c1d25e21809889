import {
  areBothKept,
  type MemoryEntry,
  type MemoryHit,
  type OtherStatement,
} from "../core/memory-store.ts";
import { laterAnswersFirst } from "./later-answers.ts";
import {
  addressOf,
  hasOneValue,
  mayReplace,
  type Statement,
  statementsIn,
  timesOfBoth,
  type Value,
} from "./statements.ts";

/** The end of the past time that a question asks about. Most questions do not need it. */
export type PastEnd = () => number | undefined;

/** Results after these are as they were found. */
const READ_MAX = 40;

/**
 * Results with what holds now before what it replaced. The newer one of two takes the better place, with its score, and each
 * names the other one:
 *
 *     The budget for the kitchen is 900 euros.            replacedBy  1200 euros
 *     Actually the budget for the kitchen is 1200 euros.  replaces    900 euros
 *
 * Nothing is left out. Two statements of which a person said that both hold stay as they were found. So do others, unless
 * they are of the same thing, which all of these say:
 *
 *     who      the same author, and neither a question, a condition, a plan, nor a quotation
 *     what     the words of one are those of the other, but for two at the most
 *     value    each has one of the same kind (a number with its unit, a version, a time, a day, a name), and they differ
 *     grounds  the newer one says that something changed, or names the old value as gone, or a word for something
 *              that has one value stands in both (port, deadline, budget, owner, …)
 *
 * With a question, the later answer to it comes first too, where nothing of this is sure. Then neither names the other.
 * A question about a past time gets what held then, and what was said after the end of that time comes later.
 */
export function newestFirst(
  hits: readonly MemoryHit[],
  question = "",
  pastEnd: PastEnd = () => undefined,
): readonly MemoryHit[] {
  const read = hits.slice(0, READ_MAX);
  const newer = new Map<number, { readonly at: number; readonly change: Change }[]>();
  const statements = new Map<number, readonly Statement[]>();
  const statementsOf = (at: number) => {
    const known = statements.get(at) ?? statementsIn(read[at]?.content ?? "");
    statements.set(at, known);
    return known;
  };
  for (const [at, hit] of read.entries()) {
    // Most say nothing of a change, and are not read closer.
    if (!mayReplace(hit.content) || statementsOf(at).length === 0) continue;
    for (const [older, before] of read.entries()) {
      const change = isLaterOfTwo(hit, before) && changeOf(statementsOf(at), statementsOf(older));
      if (change) newer.set(older, [...(newer.get(older) ?? []), { at, change }]);
    }
  }
  const holding =
    newer.size === 0 ? hits : placed(hits, newer, pastEnd() ?? Number.POSITIVE_INFINITY);
  return question === "" ? holding : withLaterAnswers(holding, question, pastEnd);
}

function withLaterAnswers(
  hits: readonly MemoryHit[],
  question: string,
  pastEnd: PastEnd,
): readonly MemoryHit[] {
  const read = hits.slice(0, READ_MAX);
  const isAnswer = (hit: MemoryHit, before: MemoryHit) =>
    isLaterOfTwo(hit, before) && timeOf(hit) < (pastEnd() ?? Number.POSITIVE_INFINITY);
  const order = laterAnswersFirst(read, question, isAnswer);
  if (order.every((at, place) => at === place)) return hits;
  const moved = order.flatMap((at, place) => inPlaceOf(hits[at], hits[place]));
  return [...moved, ...hits.slice(READ_MAX)];
}

/** A result with the score of the one whose place it takes. */
function inPlaceOf(hit: MemoryHit | undefined, found: MemoryHit | undefined): MemoryHit[] {
  if (!hit || !found) return [];
  const { score, match } = found;
  return [{ ...hit, score, ...(match === undefined ? {} : { match }) }];
}

function isLaterOfTwo(hit: MemoryHit, before: MemoryHit): boolean {
  return isLater(hit, before) && !areBothKept(hit, before);
}

type Newer = ReadonlyMap<number, readonly { readonly at: number; readonly change: Change }[]>;

function placed(hits: readonly MemoryHit[], newer: Newer, until: number): readonly MemoryHit[] {
  const timeAt = (at: number) => timeOf(hits[at]);
  const told = hits.map((hit) => hit);
  for (const [older, all] of newer) {
    const last = all.reduce((one, other) => (timeAt(other.at) > timeAt(one.at) ? other : one));
    const [now, then] = [hits[last.at], hits[older]];
    if (!now || !then) continue;
    told[older] = { ...then, ...told[older], replacedBy: other(now, last.change.now) };
    const said = told[last.at]?.replaces?.time;
    if (said !== undefined && Date.parse(said) > timeAt(older)) continue;
    told[last.at] = { ...now, ...told[last.at], replaces: other(then, last.change.before) };
  }
  for (const places of groupsOf(newer)) {
    const order = places.toSorted((one, other) => heldFirst(timeAt(one), timeAt(other), until));
    const moved = order.map((at) => told[at]);
    for (const [nth, place] of places.entries()) {
      const [hit, found] = [moved[nth], hits[place]];
      if (!hit || !found) continue;
      told.splice(place, 1, ...inPlaceOf(hit, found));
    }
  }
  return told;
}

/** The order of two times: the last one before `until` first, then what came after it. */
function heldFirst(one: number, other: number, until: number): number {
  if (one < until !== other < until) return one < until ? -1 : 1;
  return one < until ? other - one : one - other;
}

function timeOf(hit: MemoryHit | undefined): number {
  return Date.parse(hit?.time ?? "");
}

function other({ id, time }: MemoryEntry, said: string): OtherStatement {
  return { id, said, ...(time === undefined ? {} : { time }) };
}

/** The places of statements of the same thing, each group in order. */
function groupsOf(newer: Newer): readonly (readonly number[])[] {
  const group = new Map<number, Set<number>>();
  for (const [older, all] of newer) {
    for (const { at } of all) {
      if (group.get(older)?.has(at)) continue;
      const both = new Set([older, at].flatMap((one) => [one, ...(group.get(one) ?? [])]));
      for (const one of both) group.set(one, both);
    }
  }
  return [...new Set(group.values())].map((places) => [...places].sort((a, b) => a - b));
}

function isLater(newer: MemoryEntry, older: MemoryEntry): boolean {
  return (
    newer.time !== undefined &&
    older.time !== undefined &&
    Date.parse(newer.time) > Date.parse(older.time) &&
    newer.role === older.role &&
    newer.speaker === older.speaker &&
    newer.kind === older.kind
  );
}

interface Change {
  readonly before: string;
  readonly now: string;
}

function changeOf(newer: readonly Statement[], older: readonly Statement[]): Change | undefined {
  for (const one of newer) {
    for (const other of older) {
      const change = changeBetween(one, other);
      if (change) return change;
    }
  }
  return undefined;
}

const OWN_WORDS_MAX = 2;

function changeBetween(newer: Statement, older: Statement): Change | undefined {
  const now = newer.values.filter(({ isGone }) => !isGone);
  for (const value of now) {
    const ofKind = (one: Value) => one.kind === value.kind && !one.isGone;
    const [before, ...more] = older.values.filter(ofKind);
    if (!before || more.length > 0 || now.filter(ofKind).length > 1) continue;
    if (before.key === value.key) continue;
    const namesOld = newer.values.some(({ isGone, key }) => isGone && key === before.key);
    const both = timesOfBoth(newer, older);
    const [one, other] = [addressOf(newer, value.kind, both), addressOf(older, value.kind, both)];
    const shared = [...one].filter((word) => other.has(word));
    const own = Math.min(one.size, other.size) - shared.length;
    const extra = Math.max(one.size, other.size) - shared.length;
    const isSame = own === 0 && extra <= OWN_WORDS_MAX && shared.length >= (extra === 0 ? 1 : 2);
    const isOne = shared.some(hasOneValue);
    const isChange = namesOld
      ? shared.length > 0 || (value.kind === "name" && newer.saysChange)
      : isSame && (newer.saysChange || isOne);
    if (isChange) return { before: before.text, now: value.text };
  }
  return undefined;
}
