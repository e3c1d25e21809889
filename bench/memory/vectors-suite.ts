import type { Bench } from "../bench.ts";
import { type BenchTable, figure } from "../report.ts";
import { meanwhileFigures, measureStore, storeMethod } from "./measure-store.ts";

const MB = 2 ** 20;

/** What keeping and searching vectors beside the words costs. */
export async function vectorsSuite(bench: Bench): Promise<BenchTable[]> {
  const { size } = bench.options;
  const measured = await measureStore(bench, true);
  const { filled, searched, start, footprint, single } = measured;
  const words = (value: number) => ({ name: "FTS5, words alone", value });
  return [
    {
      suite: "vectors",
      title: `vectors, ${size} entries of 384 numbers`,
      method: `${storeMethod(measured, size)} The embedder is deterministic, knows nothing of meaning and takes some microseconds, which are part of every add and search.`,
      figures: [
        figure("hybrid search p50", "ms", searched.rkat.p50, words(searched.fts5.p50)),
        figure("hybrid search p99", "ms", searched.rkat.p99, words(searched.fts5.p99)),
        figure("processor time of a search", "ms", searched.rkat.cpu, words(searched.fts5.cpu)),
        ...meanwhileFigures(measured, "hybrid p50"),
        figure("adds by 100", "/s", filled.rkat.addedPerSecond, words(filled.fts5.addedPerSecond)),
        figure("then, in the background", "ms", filled.settlingMs),
        figure("one add", "ms", single.rkat, { name: "bare insert", value: single.bareInsert }),
        figure("open and first result", "ms", start.firstResult, {
          name: "node -e 0",
          value: start.node,
        }),
        figure("disk", "MB", filled.rkat.diskBytes / MB, {
          name: "text and numbers",
          value: (filled.textBytes + size * 384 * 4) / MB,
        }),
        figure("memory of the process", "MB", footprint.after / MB, {
          name: "before opening",
          value: footprint.before / MB,
        }),
      ],
    },
  ];
}
