import { inject } from "vitest";

/** Whether this is `npm run test:long`, which runs before a release. */
export const LONG = inject("long");

/** How many trials a campaign has: a few in `npm test`, many in `npm run test:long`. */
export function trials(short: number, long: number): number {
  return LONG ? long : short;
}
