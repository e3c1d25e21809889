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
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

function cutToWidth(text: string, columnsMax: number): string {
  if (text.length * 2 <= columnsMax || textWidth(text) <= columnsMax) return text;
  let cut = "";
  let width = 1;
  for (const { segment } of graphemes.segment(text)) {
    width += WIDE.test(segment) ? 2 : 1;
    if (width > columnsMax) break;
    cut += segment;
  }
  return `${cut.trimEnd()}…`;
}

const graphemes = new Intl.Segmenter();

/** Every control but the tab and the line feed. */
const CONTROLS = /(?![\t\n])\p{Cc}/gu;

const WIDE =
  /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|[\uFF01-\uFF60]|\p{Emoji_Presentation}/u;
