import { oneLine } from "../src/cli/render/printable.ts";
import { renderTable, type Style } from "../src/cli/render/style.ts";
import type { BenchReport, BenchTable, Figure, Machine } from "./report.ts";

const BAR_COLUMNS = 20;

/** What was measured, for people: a table each, with how it was measured under it. */
export function renderReport(
  { machine, tables }: BenchReport,
  columns: number,
  style: Style,
): string {
  const parts = [
    renderMachine(machine, style),
    ...tables.map((one) => render(one, columns, style)),
  ];
  return parts.join("\n");
}

function renderMachine(machine: Machine, style: Style): string {
  const { rkat, node, sqlite, system, cpu, cores, memory_gb } = machine;
  return style.dim(
    `rkat ${rkat}, Node ${node}, SQLite ${sqlite}, ${system}, ${cores} × ${cpu}, ${memory_gb} GB\n`,
  );
}

function render(table: BenchTable, columns: number, style: Style): string {
  const rows = table.figures.map((figure) => [
    figure.name,
    amount(figure.value, figure.unit),
    figure.against ? amount(figure.against.value, figure.unit) : "",
    figure.against?.name ?? "",
    figure.ratio === undefined ? "" : `${digits(figure.ratio)} ×`,
    bars(figure),
  ]);
  const head = [
    { title: "" },
    { title: "rkat", align: "right" as const },
    { title: "against", align: "right" as const },
    { title: "" },
    { title: "ratio", align: "right" as const },
    { title: "" },
  ];
  const notes = [table.method, ...(table.skipped ?? []).map((what) => `Not measured: ${what}.`)];
  const under = notes.flatMap((note) => wrap(note, Math.min(columns, 100)));
  const lines = under.map((line) => style.dim(`${line}\n`)).join("");
  return `${style.bold(oneLine(table.title, columns))}\n${renderTable(head, rows, style)}${lines}`;
}

/** The two values to scale, rkat's as blocks and the other's as what it adds or lacks. */
function bars({ value, against }: Figure): string {
  if (!against) return "";
  const longest = Math.max(value, against.value);
  if (longest <= 0) return "";
  const columns = (one: number) => Math.ceil((BAR_COLUMNS * Math.max(0, one)) / longest);
  const [own, other] = [columns(value), columns(against.value)];
  return "█".repeat(Math.min(own, other)) + (own > other ? "▓" : "░").repeat(Math.abs(own - other));
}

function amount(value: number, unit: Figure["unit"]): string {
  return `${digits(value)} ${unit}`;
}

/** Three digits are as many as mean something. */
function digits(value: number): string {
  if (value >= 100) return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, " ");
  return String(Number(value.toPrecision(3)));
}

function wrap(text: string, columns: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last !== "" && last.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines;
}
