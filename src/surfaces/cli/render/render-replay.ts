import type { ReplayedCompaction, ReplayReport } from "../../../replay/replay-report.ts";
import { plural, thousands } from "./amounts.ts";
import { printable } from "./printable.ts";
import type { Style } from "./style.ts";
import { type Column, renderFacts, renderTable } from "./table.ts";

/** The report of a replay, for people. */
export function renderReplay(report: ReplayReport, style: Style): string {
  const { compactions, failures } = report;
  const stopped = report.interrupted ? ", interrupted" : "";
  const failed = failures.length > 0 ? `, ${failures.length} failed` : "";
  const facts = renderFacts(
    [
      ["session", report.session_id],
      ["recording", printable(report.file) + stopped],
      ["replayed", `${plural(report.turns, "turn")}, ${plural(report.messages, "message")}`],
      ["took", `${(report.duration_ms / 1000).toFixed(1)} s`],
      ["history", tokens(report.tokens_before, report.tokens_after)],
      ["compactions", `${compactions.length}${failed}`],
      [
        "discarded",
        `${plural(report.discarded_messages, "message")}, ${thousands(report.discarded_with_text)} with text`,
      ],
      ["in memory", plural(report.indexed_messages, "message")],
    ],
    style,
  );
  const table = compactions.length > 0 ? `\n${renderCompactions(compactions, style)}` : "";
  const problems = failures.map(
    ({ turn, reason, error }) =>
      `${style.red("failed")} in turn ${turn}: ${reason}: ${printable(error)}\n`,
  );
  return facts + table + problems.join("");
}

const COLUMNS: readonly (Column & { readonly cell: (row: ReplayedCompaction) => string })[] = [
  { title: "turn", align: "right", cell: ({ turn }) => thousands(turn) },
  { title: "call", align: "right", cell: ({ call }) => thousands(call) },
  { title: "tokens", align: "right", cell: (row) => change(row.tokens_before, row.tokens_after) },
  {
    title: "messages",
    align: "right",
    cell: (row) => change(row.messages_before, row.messages_after),
  },
  { title: "discarded", align: "right", cell: ({ discarded }) => thousands(discarded) },
  { title: "pruned", align: "right", cell: ({ pruned }) => thousands(pruned) },
  { title: "summary by", cell: ({ summarised_by }) => summarised_by },
];

function renderCompactions(compactions: readonly ReplayedCompaction[], style: Style): string {
  const rows = compactions.map((compaction) => COLUMNS.map(({ cell }) => cell(compaction)));
  return renderTable(COLUMNS, rows, style);
}

function tokens(before: number, after: number): string {
  return `${thousands(before)} tokens in the recording, ${thousands(after)} left in the window`;
}

function change(before: number, after: number): string {
  return `${thousands(before)} → ${thousands(after)}`;
}
