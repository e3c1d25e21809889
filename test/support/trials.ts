import { inject } from "vitest";
import { countSample } from "./running-test.ts";

/** Whether this is `npm run test:long`, which runs before a release. */
export const LONG = inject("long");

/** How many trials a campaign has: a few in `npm test`, many in `npm run test:long`. */
export function trials(short: number, long: number): number {
  return LONG ? long : short;
}

/** Which cells of a table are tests in the short form: those whose number leaves `at` when it is divided by `of`. */
export interface Part {
  readonly of: number;
  readonly at: number;
}

/**
 * Some of the laws in `npm test`, all in `npm run test:long`: for a subject whose code is almost that of another, which
 * keeps all of them. Subjects that stand beside each other take different parts. The run prints both counts.
 */
export function sampled<Law>(laws: readonly Law[], part: Part): readonly Law[] {
  // Of very few, each says something that the others do not.
  const isWhole = LONG || laws.length < part.of;
  const chosen = laws.filter((_, at) => isWhole || at % part.of === part.at);
  countSample(chosen.length, laws.length);
  return chosen;
}

/**
 * The SDK keeps every law and every contract test. Each surface over it keeps a quarter of them in the short form, and
 * together they keep all. The laws of the wires themselves, and that events, codes and texts are the SDK's, always run.
 */
export const PART_OF_SURFACE = {
  "json-rpc": { of: 4, at: 0 },
  rest: { of: 4, at: 1 },
  mcp: { of: 4, at: 2 },
  cli: { of: 4, at: 3 },
} as const;
