import { stripVTControlCharacters } from "node:util";
import { NOTHING, unicodePattern } from "../../../core/unicode-pattern.ts";
import { visibleText } from "../../../core/visible-text.ts";
import { controlTable, withoutControls } from "../../../core/without-controls.ts";

/**
 * Makes text of models, tools and files safe to show on a terminal. Control sequences in it could
 * move the cursor or fake output, and hidden characters could change what it seems to say.
 */
export function printable(text: string): string {
  return visibleText(withoutControls(text, CONTROLS));
}

/** The same, on one line of at most `columnsMax` columns. */
export function oneLine(text: string, columnsMax: number): string {
  // First, because some hidden characters count as spaces.
  const visible = visibleText(text);
  return cutToWidth(printable(visible.replace(/\s+/g, " ").trim()), columnsMax);
}

/**
 * Takes out every control character but the ones that rkat writes itself: colours, and the line that shows progress.
 * It stands before the terminal, for what `printable` was forgotten for.
 */
export function withOwnControls(text: string): string {
  return text.replace(OWN_OR_CONTROLS, (found) => (OWN.test(found) ? found : "\u{FFFD}"));
}

/**
 * The width of a text in terminal columns, approximately: East Asian letters and emoji take two, and
 * colours none.
 */
export function textWidth(text: string): number {
  return lettersOf(stripVTControlCharacters(text)).reduce(
    (width, letter) => width + columnsOf(letter),
    0,
  );
}

function cutToWidth(text: string, columnsMax: number): string {
  if (textWidth(text) <= columnsMax) return text;
  let cut = "";
  let width = 1;
  for (const letter of lettersOf(text)) {
    width += columnsOf(letter);
    if (width > columnsMax) break;
    cut += letter;
  }
  return `${cut.trimEnd()}…`;
}

/** Letters as a reader sees them. The segmenter is created only when needed: it takes as long as Node's start. */
function lettersOf(text: string): readonly string[] {
  if (/^[\x20-\x7e]*$/.test(text)) return text.split("");
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
}

function columnsOf(letter: string): 1 | 2 {
  return WIDE(letter).test(letter) ? 2 : 1;
}

const CONTROLS = controlTable("");

const ESCAPE = String.raw`\u001b\[`;
const OWN = new RegExp(`^(?:${ESCAPE}\\d{1,2}m|\\r${ESCAPE}2K|\\r\\n)$`, "u");
const OWN_OR_CONTROLS = new RegExp(`${OWN.source.slice(1, -1)}|(?![\\t\\n])\\p{Cc}`, "gu");

const WIDE = unicodePattern(NOTHING, {
  source: String.raw`\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|[\uFF01-\uFF60]|\p{Emoji_Presentation}`,
  flags: "u",
});
