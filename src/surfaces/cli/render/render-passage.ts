import { printable } from "./printable.ts";
import type { Style } from "./style.ts";

const LINES_MAX = 8;

/** Something that was found: where it comes from, and the beginning of it. */
export interface Passage {
  readonly place: readonly (string | undefined)[];
  readonly content: string;
}

export function renderPassage({ place, content }: Passage, style: Style): string {
  const lines = printable(content).trim().split("\n");
  const rest = lines.length - LINES_MAX;
  const shown = lines.slice(0, LINES_MAX).map((line) => `  ${line}\n`);
  if (rest > 0) shown.push(style.dim(`  … ${rest} more lines\n`));
  const known = place.filter((part) => part !== undefined);
  return `${style.dim(printable(known.join(" · ")))}\n${shown.join("")}`;
}
