import { type PassageIndex, type Postings, SAID_MASK } from "../passage-index.ts";

/** How often each session says a word. */
export interface SessionCounts {
  /** Numbers of the sessions that have the word. */
  readonly sessions: Uint32Array;
  /** For each of them, how often it says it: 0 where only a speaker's name or a date has it. */
  readonly said: Uint16Array;
}

/** Larger counts make no difference to a score. */
const SAID_MAX = 65_535;

/** The counts with those of more postings added. */
export function withCounts(
  { columns, lastSession }: PassageIndex,
  { sessions, said }: SessionCounts,
  { slots, hits }: Postings,
): SessionCounts {
  // By session, its place in the result plus 1; 0 where it has none yet.
  const places = new Uint32Array(lastSession + 1);
  let count = 0;
  for (; count < sessions.length; count += 1) places[sessions[count] as number] = count + 1;
  for (let at = 0; at < slots.length; at += 1) {
    const number = columns.session[slots[at] as number] as number;
    if (places[number] === 0) places[number] = count += 1;
  }
  const allSessions = new Uint32Array(count);
  const allSaid = new Uint16Array(count);
  allSessions.set(sessions);
  allSaid.set(said);
  for (let at = 0; at < slots.length; at += 1) {
    const number = columns.session[slots[at] as number] as number;
    const place = (places[number] as number) - 1;
    const times = (allSaid[place] as number) + ((hits[at] as number) & SAID_MASK);
    allSessions[place] = number;
    allSaid[place] = Math.min(times, SAID_MAX);
  }
  return { sessions: allSessions, said: allSaid };
}
