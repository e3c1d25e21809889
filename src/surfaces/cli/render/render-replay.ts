import type { ReplayedCompaction, ReplayReport } from "../../../replay/replay-report.ts";
import { printable } from "./printable.ts";
import { type Column, renderTable } from "./render-table.ts";
import type { Style } from "./style.ts";
import { thousands } from "./thousands.ts";

/** The report of a replay, for people. */
export function renderReplay(report: ReplayReport, style: Style): string {
  const { compactions, failures } = report;
  const stopped = report.interrupted ? ", stopped before its end" : "";
  const failed = failures.length > 0 ? `, and ${failures.length} that failed` : "";
  const facts = [
    ["session", report.session_id],
    ["recording", printable(report.file) + stopped],
    ["replayed", `${thousands(report.turns)} turns, ${thousands(report.messages)} messages`],
    ["took", `${(report.duration_ms / 1000).toFixed(1)} s`],
    ["history", tokens(report.tokens_before, report.tokens_after)],
    ["compactions", `${compactions.length}${failed}`],
    [
      "discarded",
      `${thousands(report.discarded_messages)} messages, ${thousands(report.discarded_with_text)} of them with text`,
    ],
    ["in memory", `${thousands(report.indexed_messages)} messages`],
  ];
  const list = facts
    .map(([name = "", value]) => `${style.dim(name.padEnd(13))}${value}\n`)
    .join("");
  const table = compactions.length > 0 ? `\n${renderCompactions(compactions, style)}` : "";
  const problems = failures.map(
    ({ turn, reason, error }) =>
      `${style.red("failed")} in turn ${turn}: ${reason}: ${printable(error)}\n`,
  );
  return list + table + problems.join("");
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
  return `${thousands(before)} tokens were said, ${thousands(after)} are left in the window`;
}

function change(before: number, after: number): string {
  return `${thousands(before)} → ${thousands(after)}`;
}
