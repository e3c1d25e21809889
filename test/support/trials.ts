import { inject } from "vitest";

/** Whether this is `npm run test:long`, which runs before a release. */
export const LONG = inject("long");

/** How many trials a campaign has: a few in `npm test`, many in `npm run test:long`. */
export function trials(short: number, long: number): number {
  return LONG ? long : short;
}

/** Some of the laws in `npm test`, all in `npm run test:long`: for a subject whose code is almost that of another. */
export function sampled<Law>(laws: readonly Law[]): readonly Law[] {
  return laws.filter((_, at) => LONG || at % 4 === 0);
}
