import { parseArgs } from "node:util";

export interface RepeatPlan {
  readonly runs: readonly PlannedRun[];
  /** Filters of files, as `vitest run` takes them. */
  readonly files: readonly string[];
}

export interface PlannedRun {
  readonly condition: string;
  /** Of the order of files and tests, and of the inputs of random tests when `seedsInputs`. */
  readonly seed: number;
  readonly seedsInputs: boolean;
}

/** What the command line asks for: so many runs, the conditions by turns, each run with a seed of its own. */
export function repeatPlan(
  args: readonly string[],
  conditions: readonly string[],
  randomSeed: () => number,
): RepeatPlan {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      times: { type: "string", default: String(conditions.length) },
      seed: { type: "string" },
      only: { type: "string", multiple: true, default: [] },
    },
  });
  const unknown = values.only.find((name) => !conditions.includes(name));
  if (unknown !== undefined) {
    throw new Error(`There is no condition "${unknown}". There are: ${conditions.join(", ")}.`);
  }
  const chosen = values.only.length > 0 ? values.only : conditions;
  const times = wholeNumber("--times", values.times);
  const given = values.seed === undefined ? undefined : wholeNumber("--seed", values.seed);
  return {
    files: positionals,
    runs: Array.from({ length: times }, (_, at) => ({
      condition: chosen[at % chosen.length] ?? "",
      // The first run with a given seed is the one that was printed with it.
      seed: given === undefined ? randomSeed() : given + at,
      seedsInputs: given !== undefined,
    })),
  };
}

function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0 || text.trim() === "") {
    throw new Error(`${option} is a whole number, not "${text}".`);
  }
  return number;
}
