/*
 * Estimates the tokens of a text, by its kind of text. The unit is the
 * quarter token, the weight of one byte of plain English: what the
 * specification counts for every text, bytes / 4, is right for that kind alone.
 *
 *     kind                       characters in a token
 *     English, source code       4
 *     JSON, logs, CSV            2 to 3
 *     UUIDs, hashes, base64      1.4 to 1.8
 *     Cyrillic, Greek, Arabic    2.4 to 3.3
 *     Chinese, Japanese          1.3
 *
 * Tokenizers differ by about a fifth. `TokenCounts` learns the difference from what
 * the provider counted.
 */

const OTHER = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const SPACE = 4;
const MARK = 5;

/** The class of each UTF-16 unit; of those that are not ASCII, `OTHER`. */
const CLASS = new Uint8Array(0x10000);
for (let code = 0; code < 128; code += 1) CLASS[code] = asciiClass(String.fromCharCode(code));

function asciiClass(character: string): number {
  if (/[a-z]/.test(character)) return LOWER;
  if (/[A-Z]/.test(character)) return UPPER;
  if (/\d/.test(character)) return DIGIT;
  if (/\s/.test(character)) return SPACE;
  return /[!-~]/.test(character) ? MARK : OTHER;
}

/** A token's weight, which is also that of a character that no vocabulary has. */
const TOKEN = 4;

/** Digits that a tokenizer takes together. */
const DIGITS_IN_A_TOKEN = 3;

/** A run without spaces and with this many changes between cases and digits is data, not a name. */
const DATA_CHANGES = 4;

/** The weight of a character of data: letters in no order make short tokens. */
const DATA_WEIGHT = 2.5;

/** Weight of one UTF-16 unit, by the first unit of the next block of scripts. */
const SCRIPTS: readonly (readonly [before: number, weight: number])[] = [
  [0x0250, 2], // Latin with marks
  [0x0370, 4], // phonetic signs, combining marks
  [0x0400, 1.7], // Greek
  [0x0530, 1.25], // Cyrillic
  [0x0590, 2.5], // Armenian
  [0x0600, 1.7], // Hebrew
  [0x0700, 1.5], // Arabic
  [0x0900, 3],
  [0x0e00, 1.6], // scripts of India
  [0x0e80, 2.1], // Thai
  [0x1100, 3],
  [0x1200, 2.1], // Hangul letters
  [0x1e00, 3],
  [0x2000, 2], // more Latin and Greek with marks
  [0x2070, 3], // dashes and quotes
  [0x2e80, 4], // symbols
  [0xac00, 3], // Chinese and Japanese
  [0xd7b0, 2.1], // Hangul
  [0xfb00, 3], // halves of pairs: emoji, rare signs
  [0xfe00, 2], // forms of Hebrew and Arabic
  [0xff00, 4],
  [0xfff0, 3], // wide forms
];

const UNIT_WEIGHT = new Float32Array(0x10000).fill(TOKEN);
for (const [index, [before, weight]] of SCRIPTS.entries()) {
  UNIT_WEIGHT.fill(weight, SCRIPTS[index - 1]?.[0] ?? 128, before);
}

/** The weight of a text: about four times its tokens. It is read once, from its start to its end. */
export function textWeight(text: string): number {
  const { length } = text;
  let weight = 0;
  let before = SPACE;
  let changes = 0;
  for (let at = 0; at < length; ) {
    const unit = text.charCodeAt(at);
    const first = CLASS[unit] as number;
    if (first === OTHER) {
      weight += UNIT_WEIGHT[unit] as number;
      before = OTHER;
      changes = 0;
      at += 1;
      continue;
    }
    let end = at + 1;
    let kind = first;
    // A word begins with any number of capitals: `getHTTPUser2` is get, HTTPUser and 2.
    if (kind === UPPER) {
      while (end < length && CLASS[text.charCodeAt(end)] === UPPER) end += 1;
      kind = LOWER;
    }
    while (end < length && CLASS[text.charCodeAt(end)] === kind) end += 1;
    const run = end - at;
    const isInside = before === LOWER || before === DIGIT;
    switch (kind) {
      case SPACE:
        // A space belongs to the word after it; indentation is a token or two.
        weight += run === 1 ? 1 : Math.min(run, TOKEN + run / 16);
        break;
      case MARK: {
        // A full stop after a word costs little, as an opening bracket before one; between words it is a token.
        const atEdge = before === SPACE || end === length || CLASS[text.charCodeAt(end)] === SPACE;
        weight += run === 1 && atEdge ? 1 : Math.max(run, TOKEN - 1);
        break;
      }
      case DIGIT:
        weight += Math.ceil(run / DIGITS_IN_A_TOKEN) * TOKEN;
        changes = isInside ? changes + 1 : 0;
        break;
      default: {
        changes = isInside ? changes + 1 : 0;
        const own = changes > DATA_CHANGES ? run * DATA_WEIGHT : run;
        weight += isInside || before === MARK ? Math.max(TOKEN, own) : own;
      }
    }
    if (kind === SPACE || kind === MARK) changes = 0;
    before = kind;
    at = end;
  }
  return Math.ceil(weight);
}
