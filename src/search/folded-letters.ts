import { CharacterKinds, sizeAt } from "../core/character-kinds.ts";
import { unicodePattern } from "../core/unicode-pattern.ts";
import { foldText } from "./fold-text.ts";

/** Longer words are cut. They are checksums and the like, whose beginnings differ. */
export const WORD_LENGTH_MAX = 100;

/** Characters that folding adds beside letters: ㈠ becomes (一), ½ becomes 1⁄2. */
const FOLDED_IN = unicodePattern(/[^A-Za-z0-9._-]/g, {
  source: String.raw`[^\p{L}\p{N}\p{M}\p{Extended_Pictographic}._-]`,
  flags: "gu",
});

export function withoutCommas(text: string): string {
  return text.includes(",") ? text.replaceAll(",", "") : text;
}

/** Of a long compound only the beginning is folded, because the rest is cut. */
export function foldedBeginning(chunk: string): string {
  if (chunk.length > BEGINNING.length) {
    const beginning = lettersOf(chunk.slice(0, BEGINNING.length), "");
    const word = cut(beginning);
    if (beginning.length - word.length >= BEGINNING.rest) return word;
  }
  return cut(lettersOf(chunk, ""));
}

/** What is folded of a long compound. The rest is room for marks that belong to the last letter of the word. */
const BEGINNING = { length: 160, rest: 30 } as const;

/** The folded text, with `between` in place of everything that is not a letter. */
export function lettersOf(text: string, between: string): string {
  const folded = foldText(text);
  // `FOLDED_IN` reads a character in ten times as long as the table.
  return LETTERS.endOf(LETTER, folded, 0) === folded.length
    ? folded
    : folded.replace(FOLDED_IN(folded), between);
}

const LETTER = 1;
const LETTERS = new CharacterKinds((character) =>
  character.search(FOLDED_IN(character)) < 0 ? LETTER : LETTER + 1,
);

function cut(word: string): string {
  if (word.length <= WORD_LENGTH_MAX) return word;
  let end = 0;
  for (let count = 0; count < WORD_LENGTH_MAX; count += 1) end += sizeAt(word, end);
  return word.slice(0, end);
}
