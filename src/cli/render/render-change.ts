import type { FileChange } from "../../coding-agents/installation.ts";
import { plural } from "./amounts.ts";
import { printable } from "./printable.ts";
import type { Style } from "./style.ts";

/** Lines around a change that are shown. */
const AROUND = 3;

/**
 * A change to a file: `changed  /home/ada/.claude/settings.json`. One that is only planned comes with the
 * lines of the file:
 *
 *     would change  /home/ada/.claude/settings.json
 *         "model": "opus",
 *     +   "hooks": {
 *
 * With `linesMax`, only the first of them are shown.
 */
export function renderChange(
  { file, before, after }: FileChange,
  isPlanned: boolean,
  style: Style,
  linesMax = Number.POSITIVE_INFINITY,
) {
  const [does, did] =
    before === undefined
      ? ["make", "made"]
      : after === undefined
        ? ["remove", "removed"]
        : ["change", "changed"];
  const path = printable(file.path);
  if (!isPlanned) return `${style.bold(did.padEnd(8))} ${path}\n`;
  const lines = renderLines(before ?? "", after ?? "", style).split(/(?<=\n)/);
  const hidden = lines.length - linesMax;
  const more = hidden > 1 ? style.dim(`  … ${plural(hidden, "more line")}\n`) : "";
  const shown = more === "" ? lines : lines.slice(0, linesMax);
  return `${style.bold(`would ${does}`)}  ${path}\n${shown.join("")}${more}\n`;
}

interface Line {
  readonly sign: " " | "+" | "-";
  readonly text: string;
}

function renderLines(before: string, after: string, style: Style): string {
  const lines = comparedLines(linesOf(before), linesOf(after));
  const shown = lines.map((_, index) =>
    lines.slice(Math.max(0, index - AROUND), index + AROUND + 1).some(({ sign }) => sign !== " "),
  );
  let hidden = 0;
  const flush = () => {
    const text = style.dim(
      `  … ${plural(hidden, "line")} as ${hidden === 1 ? "it is" : "they are"}\n`,
    );
    const gap = hidden > 0 ? text : "";
    hidden = 0;
    return gap;
  };
  let out = "";
  for (const [index, { sign, text }] of lines.entries()) {
    if (!shown[index]) {
      hidden += 1;
      continue;
    }
    const line = `${sign} ${printable(text)}`;
    out += flush() + (sign === "+" ? style.green(line) : sign === "-" ? style.red(line) : line);
    out += "\n";
  }
  return out + flush();
}

/** Lines are only added, or only removed, and where one gets a comma it is both. */
function comparedLines(before: readonly string[], after: readonly string[]): readonly Line[] {
  const lines: Line[] = [];
  let old = 0;
  let next = 0;
  while (old < before.length || next < after.length) {
    const [was, is] = [before[old], after[next]];
    if (was === is) {
      lines.push({ sign: " ", text: was ?? "" });
      old += 1;
      next += 1;
      continue;
    }
    const addedUpTo = was === undefined ? after.length : after.indexOf(was, next);
    const removedUpTo = is === undefined ? before.length : before.indexOf(is, old);
    if (addedUpTo >= 0 && (removedUpTo < 0 || addedUpTo - next <= removedUpTo - old)) {
      for (; next < addedUpTo; next += 1) lines.push({ sign: "+", text: after[next] ?? "" });
    } else if (removedUpTo >= 0) {
      for (; old < removedUpTo; old += 1) lines.push({ sign: "-", text: before[old] ?? "" });
    } else {
      lines.push({ sign: "-", text: was ?? "" }, { sign: "+", text: is ?? "" });
      old += 1;
      next += 1;
    }
  }
  return lines;
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}
