import { codesOf, textOf } from "./character-codes.ts";

/** What takes the place of each UTF-16 unit: 0 for those that stay. */
export type UnitTable = Uint16Array;

/** Makes `breaks` line feeds, and each control character except tabs and line feeds `\u{FFFD}`. */
export function controlTable(breaks: string): UnitTable {
  const table = new Uint16Array(0x10000);
  for (let unit = 0; unit < 0xa0; unit += 1) {
    if (/(?![\t\n])\p{Cc}/u.test(String.fromCharCode(unit))) table[unit] = REPLACEMENT;
  }
  for (const sign of breaks) table[sign.charCodeAt(0)] = LINE_FEED;
  return table;
}

/** The text with its units replaced. A `\r\n` is one line feed. */
export function withoutControls(text: string, table: UnitTable): string {
  let length = 0;
  while (length < text.length && table[text.charCodeAt(length)] === 0) length += 1;
  if (length === text.length) return text;
  const codes = codesOf(text);
  let before = 0;
  for (let at = length; at < codes.length; at += 1) {
    const unit = codes[at] as number;
    if (unit === LINE_FEED && before === RETURN) length -= 1;
    const other = table[unit] as number;
    codes[length] = other === 0 ? unit : other;
    length += 1;
    before = unit;
  }
  return textOf(codes, length);
}

const LINE_FEED = "\n".charCodeAt(0);
const RETURN = "\r".charCodeAt(0);
const REPLACEMENT = 0xfffd;
