import type { ScoreExplanation } from "../../../core/memory-store.ts";
import { oneLine } from "./printable.ts";
import { renderTable } from "./render-table.ts";
import type { Style } from "./style.ts";

/** How a score came about, as a table under its result: what counted most comes first. */
export function renderExplanation({ parts }: ScoreExplanation, style: Style): string {
  const rows = [...parts]
    .sort((one, other) => (other.adds ?? 0) - (one.adds ?? 0))
    .map(({ name, of, adds, times }) => [
      name,
      oneLine(of ?? "", 40),
      adds === undefined ? "" : `+ ${adds.toFixed(3)}`,
      times === undefined ? "" : `× ${times.toFixed(2)}`,
    ]);
  if (rows.length === 0) return "";
  const columns = [
    { title: "part" },
    { title: "of" },
    { title: "adds", align: "right" },
    { title: "times", align: "right" },
  ] as const;
  return renderTable(columns, rows, style).replace(/^(?=.)/gm, "    ");
}
