import { outputHere } from "./running-test.ts";

/**
 * The running test provokes a warning, or a line on stderr, that `pattern` matches: it is not printed, and the test
 * fails when it does not come. Any other one fails the test.
 */
export function expectWarning(pattern: RegExp): void {
  outputHere()?.expect(pattern, 1);
}

/** The same, where chance decides whether it comes. In a hook before all tests it counts for each of them. */
export function allowWarning(pattern: RegExp): void {
  outputHere()?.expect(pattern, 0);
}
