/**
 * The number of a passage, and the rowid of its words:
 *
 *     passage   namespace · session · place in the session
 *     rowid     namespace · session · place in the session · asks
 *     bits         14         22                16             1
 *
 * 53 bits in all, which is what a number of JavaScript holds.
 */
const SESSIONS = 2 ** 22;
/** The session of a passage is its number divided by this. */
export const PLACES = 2 ** 16;

export const NAMESPACES_MAX = 2 ** 14;

/** Two places at either end of a session stay empty, so that no neighbour is another session's. */
export const FIRST_PLACE = 2;
export const PLACES_MAX = PLACES - 2 * FIRST_PLACE;

export interface Range {
  readonly first: number;
  readonly last: number;
}

/** The numbers that sessions of a namespace may have. */
export function sessionNumbers(namespace: number): Range {
  return { first: namespace * SESSIONS, last: (namespace + 1) * SESSIONS - 1 };
}

export function passageAt(session: number, place: number): number {
  return session * PLACES + place;
}

export function sessionOf(passage: number): number {
  return Math.floor(passage / PLACES);
}

/** The rowids of all passages of sessions in `range`. */
export function rowidsOf(range: Range): Range {
  return {
    first: rowidOf(passageAt(range.first, 0), false),
    last: rowidOf(passageAt(range.last, PLACES - 1), true),
  };
}

export function rowidOf(passage: number, asks: boolean): number {
  return passage * 2 + (asks ? 1 : 0);
}

export function placeOf(rowid: number): { readonly passage: number; readonly asks: boolean } {
  return { passage: Math.floor(rowid / 2), asks: rowid % 2 === 1 };
}
