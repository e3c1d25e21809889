/**
 * The UTF-16 units of a text, with a 0 behind them. They are valid until the next call with the same `room`:
 * one that is made for each text would cost more than reading it.
 */
export function unitsOf(text: string, room: Room): Uint16Array {
  const { length } = text;
  if (length >= KEPT_UNITS) return filled(new Uint16Array(length + 1), text);
  if (length >= room.units.length)
    room.units = new Uint16Array(Math.min(KEPT_UNITS, 2 * length + 2));
  return filled(room.units, text);
}

/** Where units are kept. */
export interface Room {
  units: Uint16Array;
}

/** Longer texts get units of their own, which do not stay in memory. */
const KEPT_UNITS = 1 << 16;
export function newRoom(): Room {
  return { units: new Uint16Array(256) };
}

function filled(units: Uint16Array, text: string): Uint16Array {
  const { length } = text;
  for (let at = 0; at < length; at += 1) units[at] = text.charCodeAt(at);
  units[length] = 0;
  return units;
}

/** The hash of the units between two places, behind others whose hash is `before`. */
export function hashOf(units: Uint16Array, start: number, end: number, before = 0): number {
  let hash = before;
  for (let at = start; at < end; at += 1) hash = hashWith(hash, units[at] as number);
  return hash;
}

/**
 * The hash of units and one more. Each process has a hash of its own, so that a text cannot be made of words that
 * share one.
 */
export function hashWith(hash: number, unit: number): number {
  const mixed = Math.imul(hash ^ unit, FACTOR);
  return mixed ^ (mixed >>> 15);
}

const FACTOR = (Math.floor(Math.random() * 0x7fffffff) << 1) | 1;

/** A number to look a key up by. Two keys may share one. */
export function hashOfKey(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
