import { MEMORY_KINDS, type MemoryFilter } from "../core/memory-store.ts";
import { timeSpan } from "./instant.ts";
import type { DetailColumns, PassageIndex } from "./passage-index.ts";

/** Whether the entry of a slot is one of those that a query is about. */
export function slotFilter(index: PassageIndex, filter: MemoryFilter): (slot: number) => boolean {
  const tests = slotTests(index, filter, (slot) => index.details(slot));
  if (tests.length === 0) return () => true;
  return (slot) => tests.every((test) => test(slot));
}

/** What a slot has to pass, one test for each thing that the query names. */
export function slotTests(
  index: PassageIndex,
  filter: MemoryFilter,
  details: (slot: number) => DetailColumns,
): readonly ((slot: number) => boolean)[] {
  const { columns } = index;
  const { sessionId, role, kind } = filter;
  const tests: ((slot: number) => boolean)[] = [];
  if (sessionId !== undefined) {
    const number = index.sessionNumber(sessionId);
    tests.push((slot) => columns.session[slot] === number);
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
