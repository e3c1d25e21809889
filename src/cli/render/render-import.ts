import type { ImportReport } from "../../core/operations/imports.ts";
import type { FoundTranscripts } from "../../import/find-transcripts.ts";
import type { AddedTo } from "../../import/import-report.ts";
import { plural, thousands, timeAgo } from "./amounts.ts";
import { oneLine } from "./printable.ts";
import { renderTable, type Style } from "./style.ts";

const SKIPPED_SHOWN = 10;
const PATH_COLUMNS = 200;

/** The transcripts that were found, one line for each agent. */
export function renderFound(found: readonly FoundTranscripts[], now: number, style: Style): string {
  const rows = found.map(({ format, files }) => {
    const newest = Math.max(...files.map((file) => file.mtimeMs));
    return [
      format?.agent ?? "by content",
      thousands(files.length),
      fileSize(files.reduce((sum, file) => sum + file.size, 0)),
      timeAgo(new Date(newest).toISOString(), now),
    ];
  });
  const columns = [
    { title: "agent" },
    { title: "files", align: "right" },
    { title: "size", align: "right" },
    { title: "newest" },
  ] as const;
  return renderTable(columns, rows, style);
}

/** The report of an import, in sentences. */
export function renderImport(
  report: ImportReport,
  addedTo: readonly AddedTo[],
  isTrial: boolean,
  style: Style,
): string {
  const { added, alreadyThere, sessions, leftOut, otherBranches, stillWritten } = report;
  const there = alreadyThere > 0 ? ` ${thousands(alreadyThere)} were there already.` : "";
  const lines = [
    `${isTrial ? "Would add" : "Added"} ${plural(added, "message")} of ${plural(sessions, "session")}.${there}`,
    ...addedTo.map(
      ({ messages, place = "" }) => `  ${thousands(messages)} to ${oneLine(place, PATH_COLUMNS)}`,
    ),
    ...counted("Credentials replaced", report.redacted),
    ...counted("Records of types that are not known", report.unknownTypes),
    ...(otherBranches > 0
      ? [`Not on the branch that was kept: ${plural(otherBranches, "message")}.`]
      : []),
    ...(leftOut > 0
      ? [`Left out, because memory tools held them: ${plural(leftOut, "session")}.`]
      : []),
    ...(stillWritten.length > 0
      ? [
          `Still being written: ${plural(stillWritten.length, "file")}. Import again to get the rest.`,
        ]
      : []),
    ...skipped(report),
  ];
  const [first = "", ...rest] = lines;
  return [style.bold(first), ...rest].map((line) => `${line}\n`).join("");
}

/** The additions of one round of `--watch`, one line for each store, with the time. */
export function renderNews(
  report: Pick<ImportReport, "skipped">,
  addedTo: readonly AddedTo[],
  now: Date,
  style: Style,
): string {
  const time = style.dim(now.toTimeString().slice(0, 8));
  const news = addedTo.map(
    ({ messages, place = "" }) =>
      `${plural(messages, "message")} to ${oneLine(place, PATH_COLUMNS)}`,
  );
  const lines = [...news, ...skippedLines(report.skipped)];
  return lines.map((line) => `${time}  ${line}\n`).join("");
}

/** The object that `--json` prints. */
export function importJson(report: ImportReport, addedTo: readonly AddedTo[]) {
  const { sessions, messages, added, alreadyThere, skipped: left, unknownTypes, redacted } = report;
  return {
    sessions,
    messages,
    added,
    already_there: alreadyThere,
    skipped: left,
    unknown_types: unknownTypes,
    redacted,
    other_branches: report.otherBranches,
    left_out: report.leftOut,
    still_written: report.stillWritten,
    stores: addedTo.map((each) => ({
      store: each.place,
      added: each.messages,
      sessions: each.sessions,
    })),
  };
}

function counted(title: string, counts: Readonly<Record<string, number>>): readonly string[] {
  const parts = Object.entries(counts).map(
    ([name, count]) => `${oneLine(name, 60)} ${thousands(count)}`,
  );
  return parts.length > 0 ? [`${title}: ${parts.join(", ")}.`] : [];
}

function skipped({ skipped: all }: ImportReport): readonly string[] {
  return all.length === 0 ? [] : ["Skipped:", ...skippedLines(all).map((line) => `  ${line}`)];
}

function skippedLines(all: ImportReport["skipped"]): readonly string[] {
  const shown = all.slice(0, SKIPPED_SHOWN).map(({ file, line, reason }) => {
    const place = line === undefined ? file : `${file}, line ${line}`;
    return oneLine(`${place}: ${reason.replace(/\.$/, "")}.`, PATH_COLUMNS);
  });
  const more = all.length - shown.length;
  return [...shown, ...(more > 0 ? [`… and ${thousands(more)} more. --json lists them.`] : [])];
}

export function fileSize(bytes: number): string {
  if (bytes < 100_000) return `${thousands(Math.ceil(bytes / 1000))} KB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
