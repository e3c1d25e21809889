import { NOTHING, unicodePattern } from "../../../core/unicode-pattern.ts";

/**
 * Text that is safe to show on a terminal: what models, tools and files say may
 * hold control sequences, which would move the cursor or forge output.
 */
export function printable(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(CONTROLS, "\u{FFFD}");
}

/** The same, on one line of at most `columnsMax` columns. */
export function oneLine(text: string, columnsMax: number): string {
  return cutToWidth(printable(text.replace(/\s+/g, " ").trim()), columnsMax);
}

/** Columns that a terminal gives a text, near enough: East Asian letters and pictures take two. */
export function textWidth(text: string): number {
  return lettersOf(text).reduce((width, letter) => width + columnsOf(letter), 0);
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

/** What a reader takes for one letter. The segmenter comes late: it takes as long as Node's start. */
function lettersOf(text: string): readonly string[] {
  if (/^[\x20-\x7e]*$/.test(text)) return text.split("");
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
}

function columnsOf(letter: string): 1 | 2 {
  return WIDE(letter).test(letter) ? 2 : 1;
}

/** Every control but the tab and the line feed. */
const CONTROLS = /(?![\t\n])\p{Cc}/gu;

const WIDE = unicodePattern(NOTHING, {
  source: String.raw`\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|[\uFF01-\uFF60]|\p{Emoji_Presentation}`,
  flags: "u",
});
