import * as fc from "fast-check";
import { GIVEN_PATH, GIVEN_SEED } from "./given-seed.ts";
import { LONG } from "./trials.ts";

/** Inputs of a property that names no number. */
const INPUTS = LONG ? 100 : 30;

// The short run gives the same answer for the same commit. The long run tries new inputs each time.
const seed = GIVEN_SEED ?? (LONG ? undefined : 20_260);
fc.configureGlobal({
  numRuns: INPUTS,
  ...(seed === undefined ? {} : { seed }),
  // Of a failed property: the smallest input that was found, and no other.
  ...(GIVEN_PATH === undefined ? {} : { path: GIVEN_PATH, endOnFailure: true }),
});
