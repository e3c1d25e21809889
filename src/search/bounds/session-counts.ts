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
  for (let at = 0; at < sessions.length; at += 1) places[sessions[at] as number] = at + 1;
  const fresh: number[] = [];
  for (let index = 0; index < slots.length; index += 1) {
    const number = columns.session[slots[index] as number] as number;
    if (places[number] === 0) places[number] = sessions.length + fresh.push(number);
  }
  const allSessions = new Uint32Array(sessions.length + fresh.length);
  const allSaid = new Uint16Array(allSessions.length);
  allSessions.set(sessions);
  allSessions.set(fresh, sessions.length);
  allSaid.set(said);
  for (let index = 0; index < slots.length; index += 1) {
    const place = (places[columns.session[slots[index] as number] as number] as number) - 1;
    const times = (allSaid[place] as number) + ((hits[index] as number) & SAID_MASK);
    allSaid[place] = Math.min(times, SAID_MAX);
  }
  return { sessions: allSessions, said: allSaid };
}
