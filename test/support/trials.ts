import { inject } from "vitest";
import { countSample, type Sampled } from "./running-test.ts";

/** Whether this is `npm run test:long`, which runs before a release. */
export const LONG = inject("long");

/** How many trials a campaign has: a few in `npm test`, many in `npm run test:long`. The run prints both. */
export function trials(short: number, long: number, kind: Sampled = "random trials"): number {
  const count = LONG ? long : short;
  countSample(kind, count, long);
  return count;
}

export const REPEATED = "laws repeated on another store or surface";

/** For a test that only the long form has, because another one keeps a sample of its promise. */
export const IN_LONG_FORM = { meta: { skipReason: "only in the long form" } };

/** Which cells of a table are tests in the short form: those whose number leaves `at` when it is divided by `of`. */
export interface Part {
  readonly of: number;
  readonly at: number;
}

/**
 * Some of them in `npm test`, all in `npm run test:long`: of laws, for a subject whose code is almost that of another,
 * which keeps all of them; of cases, where all of them go through the same code. Subjects that stand beside each other
 * take different parts. The run prints both counts.
 */
export function sampled<Case>(
  cases: readonly Case[],
  part: Part,
  kind: Sampled = REPEATED,
): readonly Case[] {
  // Of very few, each says something that the others do not.
  const isWhole = LONG || cases.length < part.of;
  const chosen = cases.filter((_, at) => isWhole || at % part.of === part.at);
  countSample(kind, chosen.length, cases.length);
  return chosen;
}

/**
 * The SDK keeps every law and every contract test. Each surface over it keeps some of them in the short form, each
 * others. The laws of the wires themselves, and that events, codes and texts are the SDK's, always run.
 */
export const PART_OF_SURFACE = {
  "json-rpc": { of: 16, at: 0 },
  rest: { of: 16, at: 10 },
  mcp: { of: 16, at: 4 },
  cli: { of: 16, at: 14 },
} as const;
