import { visibleText } from "../core/visible-text.ts";
import { controlTable, withoutControls } from "../core/without-controls.ts";
import type { Quote } from "./handoff-source.ts";

/**
 * How words of a session stand in a handoff. Each of their lines begins with `>`, so that they cannot
 * pass for a heading, a mark, or an instruction of the document:
 *
 *     [user #12]              > [user #12] Always use pnpm.
 *     > Fix the parser.
 *     > Keep the old codes.
 */
export function quoteBlock({ at, by, text }: Quote): string {
  return `[${by} #${at}]\n${quotable(text)
    .split("\n")
    .map((line) => `> ${line}\n`)
    .join("")}`;
}

/** The same in one line. */
export function quoteLine({ at, by, text }: Quote): string {
  return `> [${by} #${at}] ${inOneLine(quotable(text))}\n`;
}

/** A text whose only control characters are tabs and line feeds, and that hides no character. */
export function quotable(text: string): string {
  return visibleText(withoutControls(text, CONTROLS));
}

export function inOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

const CONTROLS = controlTable("\r\u2028\u2029\u0085\v\f");
