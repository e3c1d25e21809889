/** Gives numbers from 0 up to 1, the same sequence for the same seed. */
export type Random = () => number;

/** Mulberry32: small, fast, and good enough for made-up text. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A whole number from 0 up to `end`, which is left out. */
export function below(end: number, random: Random): number {
  return Math.floor(random() * end);
}

export function oneOf<Thing>(things: readonly Thing[], random: Random): Thing {
  return things[below(things.length, random)] as Thing;
}
