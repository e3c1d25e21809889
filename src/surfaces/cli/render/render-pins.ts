import type { Pins } from "../../../core/pins.ts";
import { oneLine } from "./printable.ts";
import { renderTable } from "./render-table.ts";
import type { Style } from "./style.ts";
import { thousands } from "./thousands.ts";

const TEXT_COLUMNS = 60;

/** The pinned messages, and how much of their budget they take. */
export function renderPins({ pins, tokens, tokensMax }: Pins, style: Style): string {
  const budget = `${thousands(tokens)} of ${thousands(tokensMax)} tokens`;
  if (pins.length === 0) return `Nothing is pinned (${budget}).\n`;
  const rows = pins.map(({ position, message, role, text }) => [
    String(position),
    `@${message}`,
    role,
    oneLine(text, TEXT_COLUMNS),
  ]);
  return `${renderTable(COLUMNS, rows, style)}${style.dim(`Pins take ${budget}.`)}\n`;
}

const COLUMNS = [
  { title: "POSITION", align: "right" },
  { title: "ID" },
  { title: "ROLE" },
  { title: "BEGINS" },
] as const;
