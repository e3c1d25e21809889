import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Bench } from "../bench.ts";
import { inOwnProcess } from "../own-process.ts";
import { type BenchTable, figure } from "../report.ts";
import type { ImportInput } from "./import-task.ts";

const AMOUNTS = {
  quick: { large: { files: 4, bytes: 2_000_000 }, many: { files: 100, bytes: 20_000 } },
  full: { large: { files: 20, bytes: 10_000_000 }, many: { files: 1000, bytes: 20_000 } },
} as const;

/** How fast transcripts of other agents come into the log and into memory. */
export async function importSuite(bench: Bench): Promise<BenchTable[]> {
  const { large, many } = AMOUNTS[bench.options.quick ? "quick" : "full"];
  const measure = (name: string, amounts: Omit<ImportInput, "folder">) => {
    const folder = join(bench.folder, name);
    mkdirSync(folder);
    return inOwnProcess("import", { folder, ...amounts }, bench);
  };
  const sessions = await measure("large", { ...large, thread: "main" });
  const beside = await measure("beside", { ...large, thread: "worker" });
  const small = await measure("many", { ...many, thread: "main" });
  const parsing = {
    name: "parsing the lines",
    value: sessions.megabytes / (sessions.parseMs / 1000),
  };
  return [
    {
      suite: "import",
      title: "import",
      method: `${large.files} transcripts of Claude Code with ${Math.round(sessions.megabytes)} MB in all, ${Math.round(100 * sessions.talk)} % of it talk, into an empty store: log, search of the log, and memory. The baseline reads the files and parses each line, and keeps nothing. A second import looks at ${many.files} files that have not changed.`,
      figures: [
        figure("transcripts", "MB/s", sessions.megabytes / (sessions.ms / 1000), parsing),
        figure("store in its own thread", "MB/s", beside.megabytes / (beside.ms / 1000), parsing),
        figure("talk in them", "MB/s", (sessions.talk * sessions.megabytes) / (sessions.ms / 1000)),
        figure("processor time for a MB", "ms", sessions.cpuMs / sessions.megabytes, {
          name: "parsing the lines",
          value: sessions.parseMs / sessions.megabytes,
        }),
        figure("text into the index, a processor second", "MB", 1000 / sessions.indexMs),
        figure("a second import", "ms", small.againMs, { name: "the first", value: small.ms }),
        figure("memory at most", "MB", sessions.peakMb, {
          name: "before",
          value: sessions.beforeMb,
        }),
        figure("with the store's thread", "MB", beside.peakMb, {
          name: "before",
          value: beside.beforeMb,
        }),
      ],
    },
  ];
}
