import { MEMORY_KINDS, type MemoryFilter } from "../../core/memory-store.ts";
import { type Span, timeSpan } from "../../text/time/calendar.ts";
import type { DetailColumns, PassageIndex } from "../passages/passage-index.ts";
import type { QuestionOptions } from "./entry-query.ts";

/** Tells whether the entry of a slot passes a filter. */
export function slotFilter(
  index: PassageIndex,
  { spans, ...filter }: MemoryFilter & Pick<QuestionOptions, "spans">,
): (slot: number) => boolean {
  const tests = slotTests(index, filter, (slot) => index.details(slot));
  if (spans) tests.push((slot) => placeIn(spans, index.details(slot).time[slot] as number) >= 0);
  if (tests.length === 0) return () => true;
  return (slot) => tests.every((test) => test(slot));
}

/**
 * The slots that pass a filter, as a bitmap with the lowest bit first; `undefined` when all of
 * them pass. It runs one test over all slots before the next, because most slots fail the first.
 */
export function wantedSlots(index: PassageIndex, filter: MemoryFilter): Uint32Array | undefined {
  let all: DetailColumns | undefined;
  const tests = slotTests(index, filter, () => {
    all ??= index.details(0, index.slots);
    return all;
  });
  if (tests.length === 0) return undefined;
  const wanted = new Uint32Array(Math.ceil(index.slots / 32)).fill(0xffffffff);
  for (const test of tests) {
    for (let word = 0; word < wanted.length; word += 1) {
      let left = wanted[word] ?? 0;
      for (let rest = left; rest !== 0; rest &= rest - 1) {
        const bit = rest & -rest;
        if (!test(32 * word + 31 - Math.clz32(bit))) left &= ~bit;
      }
      wanted[word] = left;
    }
  }
  return wanted;
}

/** One test for each condition of a filter. A slot has to pass all of them. */
function slotTests(
  index: PassageIndex,
  filter: MemoryFilter,
  details: (slot: number) => DetailColumns,
): ((slot: number) => boolean)[] {
  const { columns } = index;
  const { sessionId, sessions, role, kind } = filter;
  const tests: ((slot: number) => boolean)[] = [];
  if (sessionId !== undefined) {
    const number = index.sessionNumber(sessionId);
    tests.push((slot) => columns.session[slot] === number);
  }
  if (sessions !== undefined) {
    const isOnly = "only" in sessions;
    const ids = isOnly ? sessions.only : sessions.except;
    const numbers = new Set(ids.map((id) => index.sessionNumber(id)));
    tests.push((slot) => numbers.has(columns.session[slot]) === isOnly);
  }
  if (role !== undefined) {
    const number = index.labelNumber(role);
    tests.push((slot) => details(slot).role[slot] === number);
  }
  if (kind !== undefined) {
    const number = MEMORY_KINDS.indexOf(kind);
    tests.push((slot) => details(slot).kind[slot] === number);
  }
  if (filter.since !== undefined || filter.until !== undefined) {
    const { since, until } = timeSpan(filter);
    tests.push((slot) => {
      const time = details(slot).time[slot] ?? Number.NaN;
      return since <= time && time <= until;
    });
  }
  return tests;
}

/** Which of some spans has a time first, or -1. */
export function placeIn(spans: readonly Span[], at: number): number {
  return spans.findIndex(({ from, to }) => from <= at && at < to);
}
