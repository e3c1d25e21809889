import { stripVTControlCharacters } from "node:util";
import { CharacterKinds, NOTHING, sizeAt, unicodePattern } from "../../text/character-kinds.ts";
import { controlTable, visibleText, withoutControls } from "../../text/visible-text.ts";

/**
 * Makes text of models, tools and files safe to show on a terminal. Control sequences in it could
 * move the cursor or fake output, and hidden characters could change what it seems to say.
 */
export function printable(text: string): string {
  return visibleText(withoutControls(text, CONTROLS));
}

/** The same, on one line of at most `columnsMax` columns. Without a limit it is whole. */
export function oneLine(text: string, columnsMax = Number.POSITIVE_INFINITY): string {
  // First, because some hidden characters count as spaces.
  const visible = visibleText(text);
  return cutToWidth(printable(visible.replace(/\s+/g, " ").trim()), columnsMax);
}

/**
 * Takes out every control character but the ones that rkat writes itself: its colours, and in front the line that shows
 * progress. Elsewhere that would erase a line. It stands before the terminal, for what `printable` was forgotten for.
 */
export function withOwnControls(text: string): string {
  return text.replace(OWN_OR_CONTROLS, (_, own) => own ?? "\u{FFFD}");
}

/**
 * The width of a text in terminal columns, approximately: East Asian letters and emoji take two, and
 * colours none.
 */
export function textWidth(text: string): number {
  const shown = stripVTControlCharacters(text);
  let width = 0;
  for (let at = 0; at < shown.length; at += sizeAt(shown, at)) {
    const kind = COLUMNS.at(shown, at);
    if (kind === JOINS) return widthOfLetters(shown);
    width += kind;
  }
  return width;
}

function widthOfLetters(text: string): number {
  let width = 0;
  for (const letter of lettersOf(text)) width += columnsOf(letter);
  return width;
}

/** Is, or may be, one letter with the character before or behind it: an accent, half of a flag. */
const JOINS = 3;
/** The columns of characters that are letters of their own next to any character. */
const COLUMNS = new CharacterKinds((character) => {
  if (/[\x20-\x7e]/.test(character)) return 1;
  const isAlone =
    !/\p{Cc}/u.test(character) && [...segmentsOf(`a${character}${character}a`)].length === 4;
  return isAlone ? columnsOf(character) : JOINS;
});

/** Looks at no more of the text than has room. */
function cutToWidth(text: string, columnsMax: number): string {
  let width = 0;
  let at = 0;
  let cut = 0;
  for (const letter of lettersOf(text)) {
    width += columnsOf(letter);
    if (width > columnsMax) return `${text.slice(0, cut).trimEnd()}…`;
    at += letter.length;
    // The last column is for the ellipsis.
    if (width < columnsMax) cut = at;
  }
  return text;
}

/** Letters as a reader sees them. */
function lettersOf(text: string): Iterable<string> {
  return /^[\x20-\x7e]*$/.test(text) ? text : segmentsOf(text);
}

function* segmentsOf(text: string): Iterable<string> {
  segmenter ??= new Intl.Segmenter();
  for (const { segment } of segmenter.segment(text)) yield segment;
}

/** Created only when needed: it takes as long as Node's start. */
let segmenter: Intl.Segmenter | undefined;

function columnsOf(letter: string): 1 | 2 {
  return WIDE(letter).test(letter) ? 2 : 1;
}

const CONTROLS = controlTable("");

const ESCAPE = String.raw`\u001b\[`;
const OWN = String.raw`^\r${ESCAPE}2K|${ESCAPE}(?:[1-4]|2[2-4]|3[1-69])m|\r\n`;
const OWN_OR_CONTROLS = new RegExp(`(${OWN})|(?![\\t\\n])\\p{Cc}`, "gu");

const WIDE = unicodePattern(NOTHING, {
  source: String.raw`\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|[\uFF01-\uFF60]|\p{Emoji_Presentation}`,
  flags: "u",
});

/**
 * Breaks lines that are too long for a terminal between words. A command in backticks stays in one
 * piece, so that it can be copied:
 *
 *     hint: Ask for an export of your data in its settings, and name the file:
 *       `rkat import chatgpt ~/Downloads/export.zip`.
 */
export function wrapText(text: string, columns: number): string {
  return text
    .split("\n")
    .map((line) => wrapped(line, columns))
    .join("\n");
}

/** A word, or a command in backticks with the signs around it, and the spaces after it. */
const PIECE = /(?:`[^`]*`|[^\s`]|`)+\s*/g;

function wrapped(line: string, columns: number): string {
  if (textWidth(line) <= columns) return line;
  const [indent = ""] = /^\s*/.exec(line) ?? [];
  const lines: string[] = [];
  let current = indent;
  let width = indent.length;
  for (const piece of line.slice(indent.length).match(PIECE) ?? []) {
    const word = piece.trimEnd();
    const wordWidth = textWidth(word);
    if (width + wordWidth > columns && current.trim() !== "") {
      lines.push(current.trimEnd());
      current = `${indent}  `;
      width = current.length;
    }
    current += piece;
    width += wordWidth + piece.length - word.length;
  }
  return [...lines, current.trimEnd()].join("\n");
}

/**
 * Breaks lines that are too long for a terminal between parts, after ` · `, ` && ` and a title. So an id or a path stays in one
 * piece:
 *
 *     0.85  turn 1 · user · 2026-11-02T09:00:24.000Z ·
 *         id claude-code:0d5c2f6e-3b1a-4a54-9d5f-6f1f2a7b8c9d:7
 */
export function fitLines(text: string, columns: number): string {
  return text
    .split("\n")
    .map((line) => fitted(line, columns))
    .join("\n");
}

const INDENT = "    ";

function fitted(line: string, columns: number): string {
  if (textWidth(line) <= columns) return line;
  const [first = "", ...rest] = line.split(/(?<= (?:·|&&) )|(?<=" )(?=in )/);
  const lines = [first];
  for (const part of rest) {
    const longer = `${lines.at(-1)}${part}`;
    if (textWidth(longer.trimEnd()) <= columns) lines[lines.length - 1] = longer;
    else lines.push(INDENT + part);
  }
  return lines.map((each) => each.trimEnd()).join("\n");
}
