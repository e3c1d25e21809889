import type { Bench } from "../bench.ts";
import { inOwnProcess } from "../own-process.ts";
import { type BenchTable, figure } from "../report.ts";
import { commandTimes } from "./command-times.ts";

const AMOUNTS = { quick: { turns: 8, starts: 3 }, full: { turns: 40, starts: 11 } } as const;

/** What each surface adds to the cost of the SDK, per turn and per streamed token. */
export async function surfacesSuite(bench: Bench): Promise<BenchTable[]> {
  const { turns, starts } = AMOUNTS[bench.options.quick ? "quick" : "full"];
  const input = { folder: bench.folder, turns };
  const [sdk, ...others] = await inOwnProcess("surfaces", input, bench);
  bench.onProgress("starting processes");
  const command = await commandTimes(bench, starts);
  const base = { turnMs: sdk?.turnMs ?? 0, tokenUs: sdk?.tokenUs ?? 0 };
  return [
    {
      suite: "surfaces",
      title: "surfaces",
      method: `${turns} turns of one delta and ${turns} of a thousand through each surface, alternating, with a model that answers at once; medians. The cost of a token is what each of the other 999 deltas adds. ${starts} starts of each command.`,
      figures: [
        ...others.flatMap(({ surface, turnMs, tokenUs }) => [
          figure(`a turn, ${surface}`, "ms", turnMs, { name: "SDK", value: base.turnMs }),
          figure(`a token, ${surface}`, "µs", tokenUs, { name: "SDK", value: base.tokenUs }),
        ]),
        ...command.times.map(({ name, ms }) =>
          figure(name, "ms", ms, { name: "node -e 0", value: command.nodeMs }),
        ),
      ],
    },
  ];
}
