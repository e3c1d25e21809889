const STEPS = 200;

/**
 * Keys by their values between 0 and 1, largest first, equal ones in the order of
 * the keys. Sorts only as many as are asked for.
 */
export function* bestFirst(values: ReadonlyMap<number, number>): Iterable<[number, number]> {
  const steps: [number, number][][] = Array.from({ length: STEPS + 1 }, () => []);
  for (const item of values) steps[Math.min(STEPS, Math.floor(item[1] * STEPS))]?.push(item);
  for (const step of steps.reverse()) {
    yield* step.sort((one, other) => other[1] - one[1] || one[0] - other[0]);
  }
}
