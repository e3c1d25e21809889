import type { Bench } from "../bench.ts";
import { type BenchTable, type Figure, figure } from "../report.ts";
import { measureStore, type StoreMeasured, storeMethod } from "./measure-store.ts";

const MB = 2 ** 20;
const VECTOR_BYTES = 384 * 4;

/** What a store with many entries costs. */
export async function memorySuite(bench: Bench): Promise<BenchTable[]> {
  const { size } = bench.options;
  const measured = await measureStore(bench, false);
  const { filled, start, single } = measured;
  const disk = filled.rkat.diskBytes / MB;
  const figures = [
    ...searchAndAddFigures(measured, { search: "search", meanwhile: "search", baseline: "FTS5" }),
    figure("one add", "ms", single.rkat, { name: "FTS5", value: single.fts5 }),
    firstResultFigure(measured),
    figure("rkat memory search, whole", "ms", start.command, {
      name: "node -e 0",
      value: start.node,
    }),
    figure("disk", "MB", disk, { name: "the text", value: filled.textBytes / MB }),
    figure("disk", "MB", disk, { name: "FTS5", value: filled.fts5.diskBytes / MB }),
    footprintFigure(measured),
  ];
  const method = storeMethod(measured, size);
  return [{ suite: "memory", title: `memory, ${size} entries`, method, figures }];
}

/** What vectors beside the words add to that. */
export async function vectorsSuite(bench: Bench): Promise<BenchTable[]> {
  const { size } = bench.options;
  const measured = await measureStore(bench, true);
  const { filled } = measured;
  const names = { search: "hybrid search", meanwhile: "hybrid", baseline: "FTS5, words alone" };
  const figures = [
    ...searchAndAddFigures(measured, names),
    firstResultFigure(measured),
    figure("disk", "MB", filled.rkat.diskBytes / MB, {
      name: "text and numbers",
      value: (filled.textBytes + size * VECTOR_BYTES) / MB,
    }),
    footprintFigure(measured),
  ];
  const method = `${storeMethod(measured, size)} The embedder is deterministic and knows no meaning. It takes some microseconds, which are part of every add and search.`;
  const title = `vectors, ${size} entries of 384 numbers`;
  return [{ suite: "vectors", title, method, figures }];
}

function searchAndAddFigures(
  { filled, searched, single, meanwhile }: StoreMeasured,
  names: { readonly search: string; readonly meanwhile: string; readonly baseline: string },
): Figure[] {
  const baseline = (value: number) => ({ name: names.baseline, value });
  const alone = { name: "while none does", value: searched.rkat.p50 };
  const { search } = names;
  const beside = `${names.meanwhile} p50 while another`;
  return [
    figure(`${search} p50`, "ms", searched.rkat.p50, baseline(searched.fts5.p50)),
    figure(`${search} p99`, "ms", searched.rkat.p99, baseline(searched.fts5.p99)),
    figure("processor time of a search", "ms", searched.rkat.cpu, baseline(searched.fts5.cpu)),
    figure(`${beside} reindexes`, "ms", meanwhile.reindexing.rkat.p50, alone),
    figure(`${beside} adds 1000 /s`, "ms", meanwhile.adding.rkat.p50, alone),
    figure(`${beside} adds nonstop`, "ms", meanwhile.filling.rkat.p50, alone),
    figure("adds by 100", "/s", filled.rkat.addedPerSecond, baseline(filled.fts5.addedPerSecond)),
    figure("then, in the background", "ms", filled.settlingMs),
    figure("one add", "ms", single.rkat, { name: "bare insert", value: single.bareInsert }),
  ];
}

function firstResultFigure({ start }: StoreMeasured): Figure {
  const node = { name: "node -e 0", value: start.node };
  return figure("open and first result", "ms", start.firstResult, node);
}

function footprintFigure({ footprint }: StoreMeasured): Figure {
  const before = { name: "before opening", value: footprint.before / MB };
  return figure("memory of the process", "MB", footprint.after / MB, before);
}
