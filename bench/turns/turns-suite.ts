import type { Bench } from "../bench.ts";
import { inOwnProcess } from "../own-process.ts";
import { type BenchTable, figure } from "../report.ts";

const TURNS = { quick: 20, full: 300 } as const;

/** What a turn costs the engine, and whether that grows with the session. */
export async function turnsSuite(bench: Bench): Promise<BenchTable[]> {
  const turns = TURNS[bench.options.quick ? "quick" : "full"];
  const { short, long, insertsMs } = await inOwnProcess(
    "turns",
    { folder: bench.folder, turns },
    bench,
  );
  const counted = short.bytes > 0;
  return [
    {
      suite: "turns",
      title: "turns",
      method: `${turns} turns in a session of 10 000 messages and ${turns} in one of 100, alternating, with a model that answers at once; medians. The baseline is six bare durable inserts of as much text.`,
      figures: [
        figure("a turn after 10 000 messages", "ms", long.ms, {
          name: "after 100",
          value: short.ms,
        }),
        figure("a turn after 100 messages", "ms", short.ms, {
          name: "six durable inserts",
          value: insertsMs,
        }),
        ...(counted
          ? [
              figure("written by a turn after 10 000", "KB", long.bytes / 1024, {
                name: "after 100",
                value: short.bytes / 1024,
              }),
            ]
          : []),
      ],
      ...(counted ? {} : { skipped: ["bytes written: this system does not count them"] }),
    },
  ];
}
