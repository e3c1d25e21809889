import { type PassageIndex, type Postings, placeOf, SAID_MASK } from "../passages/passage-index.ts";

const NONE: ReadonlyMap<number, number> = new Map();

/** How often the entries that begin in these slots say a word, by session; only sessions where they do. */
export function timesBySession(
  { slots, columns }: PassageIndex,
  postings: Postings,
  entries: readonly number[],
): ReadonlyMap<number, number> {
  if (entries.length === 0) return NONE;
  const times = new Map<number, number>();
  for (const first of entries) {
    let said = 0;
    for (let slot = first; slot < slots && columns.entry[slot] === first; slot += 1)
      said += (postings.hits[placeOf(postings.slots, slot)] ?? 0) & SAID_MASK;
    const session = columns.session[first] as number;
    if (said > 0) times.set(session, (times.get(session) ?? 0) + said);
  }
  return times;
}

/** The sessions in which an entry that begins in none of these slots has a word: 1 by the number of a session, else 0. */
export function sessionsBeside(
  { slots: count, columns: { entry, session }, lastSession }: PassageIndex,
  { slots }: Postings,
  entries: readonly number[],
): Uint8Array {
  const isOne = new Uint8Array(count);
  for (const first of entries) isOne[first] = 1;
  const beside = new Uint8Array(lastSession + 1);
  for (const slot of slots)
    if (isOne[entry[slot] as number] === 0) beside[session[slot] as number] = 1;
  return beside;
}
