import type { AnchorReport } from "../../core/event.ts";
import type {
  RecordedCompaction,
  ReplayedCompaction,
  ReplayReport,
} from "../../replay/replayed-session.ts";
import { plural, thousands } from "./amounts.ts";
import { printable } from "./printable.ts";
import { type Column, renderFacts, renderTable, type Style } from "./style.ts";

/** The report of a replay, for people. */
export function renderReplay(report: ReplayReport, style: Style): string {
  const { compactions, failures, recorded } = report;
  const stopped = report.interrupted ? ", interrupted" : "";
  const failed = failures.length > 0 ? `, ${failures.length} failed` : "";
  const facts = renderFacts(
    [
      ["session", recorded ? "none: nothing is stored" : report.session_id],
      ["recording", printable(report.file) + stopped],
      ["replayed", `${plural(report.turns, "turn")}, ${plural(report.messages, "message")}`],
      ["took", `${(report.duration_ms / 1000).toFixed(1)} s`],
      ["history", tokens(report.tokens_before, report.tokens_after)],
      ["compactions", `${compactions.length}${failed}`],
      [
        "discarded",
        `${plural(report.discarded_messages, "message")}, ${thousands(report.discarded_with_text)} with text`,
      ],
      ["in memory", recorded ? undefined : plural(report.indexed_messages, "message")],
    ],
    style,
  );
  const table = compactions.length > 0 ? `\n${renderCompactions(compactions, style)}` : "";
  const problems = failures.map(
    ({ turn, reason, error }) =>
      `${style.red("failed")} in turn ${turn}: ${reason}: ${printable(error)}\n`,
  );
  const none = recorded && compactions.length === 0 ? renderUncompacted(report) : "";
  return (
    facts + table + problems.join("") + none + (recorded ? renderRecorded(recorded, style) : "")
  );
}

/** The worth of a compaction now, for a history that was never compacted. */
function renderUncompacted({ compacted_now: now }: ReplayReport): string {
  const fits = "\nrkat would not have compacted it. --compact-threshold sets a lower limit.\n";
  if (!now || now.tokens_after >= now.tokens_before) return fits;
  const [kept] = share(now.names_kept, now.names);
  const size = `${thousands(now.tokens_after)} in place of ${thousands(now.tokens_before)} tokens`;
  const names = `${kept} of its ${plural(now.names, "path, name or number", "paths, names and numbers")}`;
  return `${fits}Compacted now, without a model, it would take ${size}, and keep ${names}.\n`;
}

const RECORDED_COLUMNS: readonly Column[] = [
  { title: "compacted", align: "right" },
  { title: "names", align: "right" },
  { title: "their summary", align: "right" },
  { title: "kept", align: "right" },
  { title: "" },
  { title: "rkat", align: "right" },
  { title: "kept", align: "right" },
  { title: "" },
];

/** A comparison of the agent's own compactions with rkat's of the same messages. */
function renderRecorded(recorded: readonly RecordedCompaction[], style: Style): string {
  if (recorded.length === 0) return "\nThe agent recorded no compaction of its own.\n";
  const cells = recorded.map(({ tokens_before, names, theirs, ours }) => [
    thousands(tokens_before),
    thousands(names),
    thousands(theirs.tokens_after),
    ...share(theirs.names_kept, names),
    thousands(ours.tokens_after),
    ...share(ours.names_kept, names),
  ]);
  return `\n${style.bold("The agent's own compactions, and rkat's of the same messages")}
${style.dim("tokens, and the part of the paths, names and numbers that is still there")}
${renderTable(RECORDED_COLUMNS, cells, style)}`;
}

const BAR_COLUMNS = 8;

/** A part in percent, and as a bar. */
function share(part: number, whole: number): readonly [string, string] {
  const ratio = whole === 0 ? 1 : part / whole;
  const filled = Math.round(ratio * BAR_COLUMNS);
  return [`${Math.round(ratio * 100)} %`, "█".repeat(filled) + "░".repeat(BAR_COLUMNS - filled)];
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
  {
    title: "names kept",
    align: "right",
    cell: ({ anchors }) => (anchors ? namesKept(anchors) : ""),
  },
  { title: "summary by", cell: ({ summarised_by }) => summarised_by },
];

function namesKept({ found, only_in_memory }: AnchorReport): string {
  return found === 0 ? "" : `${Math.round(((found - only_in_memory) / found) * 100)} %`;
}

function renderCompactions(compactions: readonly ReplayedCompaction[], style: Style): string {
  // Columns without a number take room that a terminal of 80 columns does not have.
  const columns = COLUMNS.filter(({ cell }) =>
    compactions.some((compaction) => !["", "0"].includes(cell(compaction))),
  );
  const rows = compactions.map((compaction) => columns.map(({ cell }) => cell(compaction)));
  return renderTable(columns, rows, style);
}

function tokens(before: number, after: number): string {
  return `${thousands(before)} tokens in the recording, ${thousands(after)} left in the window`;
}

function change(before: number, after: number): string {
  return `${thousands(before)} → ${thousands(after)}`;
}
