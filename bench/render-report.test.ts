import { expect, test } from "vitest";
import { PLAIN } from "../src/cli/render/style.ts";
import { renderReport } from "./render-report.ts";
import { type BenchReport, figure } from "./report.ts";

const REPORT: BenchReport = {
  machine: {
    rkat: "1.2.3",
    node: "24.1.0",
    sqlite: "3.53.4",
    system: "linux x64",
    cpu: "A processor",
    cores: 2,
    memory_gb: 24,
  },
  tables: [
    {
      suite: "memory",
      title: "memory, 10000 entries",
      method:
        "rkat and FTS5 alternate; the median of five rounds counts, on an otherwise idle machine.",
      figures: [
        figure("search p50", "ms", 0.2041, { name: "FTS5", value: 1.02 }),
        figure("adds by 100", "/s", 12_345, { name: "FTS5", value: 6_000 }),
        figure("nothing found", "%", 12, { name: "FTS5", value: 0 }),
        figure("disk", "MB", 4.2),
      ],
      skipped: ["bytes written: this system does not count them"],
    },
  ],
};

test("each figure stands beside what it is compared with, its ratio and a bar to scale", () => {
  expect(renderReport(REPORT, 60, PLAIN)).toMatchInlineSnapshot(`
    "rkat 1.2.3, Node 24.1.0, SQLite 3.53.4, linux x64, 2 × A processor, 24 GB

    memory, 10000 entries
                        rkat   against         ratio
    search p50      0.204 ms   1.02 ms  FTS5   0.2 ×  ████░░░░░░░░░░░░░░░░
    adds by 100    12 300 /s  6 000 /s  FTS5  2.06 ×  ██████████▓▓▓▓▓▓▓▓▓▓
    nothing found       12 %       0 %  FTS5          ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
    disk              4.2 MB
    rkat and FTS5 alternate; the median of five rounds counts,
    on an otherwise idle machine.
    Not measured: bytes written: this system does not count
    them.
    "
  `);
});
