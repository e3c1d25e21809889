import type { Bench } from "../bench.ts";
import { inOwnProcess } from "../own-process.ts";
import { type BenchTable, figure } from "../report.ts";

const AMOUNTS = {
  quick: { texts: 30, characters: 20_000, rounds: 3 },
  full: { texts: 100, characters: 20_000, rounds: 25 },
} as const;

/** How fast text is read that was made to be slow. */
export async function hostileSuite(bench: Bench): Promise<BenchTable[]> {
  const amounts = AMOUNTS[bench.options.quick ? "quick" : "full"];
  const speeds = await inOwnProcess("hostile", amounts, bench);
  return [
    {
      suite: "hostile",
      title: "hostile texts",
      method: `${amounts.texts} texts of ${amounts.characters} characters for each reader, made to be slow: repeated beginnings, near matches, nested openers, long runs of one character, and random mixtures of scripts, digits and letters. The slowest text's best of ${amounts.rounds}. The baseline is a plain loop over the characters of the same text.`,
      figures: speeds.map(({ reader, worst, loop, text }) =>
        figure(reader, "MB/s", worst, { name: `a loop over ${text}`, value: loop }),
      ),
    },
  ];
}
