import type { Bench } from "../bench.ts";
import { type BenchTable, figure } from "../report.ts";
import { meanwhileFigures, measureStore, storeMethod } from "./measure-store.ts";

const MB = 2 ** 20;

/** What keeping and searching many entries costs. */
export async function memorySuite(bench: Bench): Promise<BenchTable[]> {
  const { size } = bench.options;
  const measured = await measureStore(bench, false);
  const { filled, searched, start, footprint, single } = measured;
  const fts5 = (value: number) => ({ name: "FTS5", value });
  const node = { name: "node -e 0", value: start.node };
  const diskMb = filled.rkat.diskBytes / MB;
  return [
    {
      suite: "memory",
      title: `memory, ${size} entries`,
      method: storeMethod(measured, size),
      figures: [
        figure("search p50", "ms", searched.rkat.p50, fts5(searched.fts5.p50)),
        figure("search p99", "ms", searched.rkat.p99, fts5(searched.fts5.p99)),
        figure("processor time of a search", "ms", searched.rkat.cpu, fts5(searched.fts5.cpu)),
        ...meanwhileFigures(measured, "search p50"),
        figure("adds by 100", "/s", filled.rkat.addedPerSecond, fts5(filled.fts5.addedPerSecond)),
        figure("then, in the background", "ms", filled.settlingMs),
        figure("one add", "ms", single.rkat, { name: "bare insert", value: single.bareInsert }),
        figure("one add", "ms", single.rkat, fts5(single.fts5)),
        figure("open and first result", "ms", start.firstResult, node),
        figure("rkat memory search, whole", "ms", start.command, node),
        figure("disk", "MB", diskMb, { name: "the text", value: filled.textBytes / MB }),
        figure("disk", "MB", diskMb, fts5(filled.fts5.diskBytes / MB)),
        figure("memory of the process", "MB", footprint.after / MB, {
          name: "before opening",
          value: footprint.before / MB,
        }),
      ],
    },
  ];
}
