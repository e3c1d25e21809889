import { CharacterKinds, isAscii, normalForm, sizeAt } from "../text/character-kinds.ts";
import { wordSet } from "../text/word-set.ts";

/** English function words, which do not show a text's subject. Shorter words do not count anyway. */
const FUNCTION_WORDS = wordSet(
  "about above after again also although always another around because been before being below between both cannot could does doing done down during each either else even ever every from further gave give going have having here hers himself however into itself just less like likely made make many maybe might more most much must myself need neither never only other ours over own perhaps rather really same shall should since some still such than that their them then there these they thing things this those though through thus together under until upon used using very want well were what when where whether which while whom whose will with within without would your yours",
);

/** Whether a word in small letters is a function word, such as "because". */
export function isFunctionWord(word: string): boolean {
  return FUNCTION_WORDS.has(word);
}

/** Forms of a word are the same when these first letters are: `deploy`, `deployed`, `deployment`. */
const STEM_LETTERS = 5;

/** Shorter words and numbers are left out, and so are shorter names. */
const LETTERS_MIN = 4;
const DIGITS_MIN = 2;
const NAME_LETTERS_MIN = 3;

/** When a larger share of the words has a capital, a capital makes no name: German, headings. */
const NAMES_PART_MAX = 0.2;

/**
 * The content words of a text: the beginnings of its words, and its numbers, each as often as it occurs. In a
 * script without spaces, every two characters are a word. It knows no language, except a list of
 * English words that say nothing.
 */
export function* contentWords(text: string): Generator<string> {
  const plain = (isAscii(text) ? text : normalForm(text, "NFKC")).toLowerCase();
  const kinds = KINDS.of(plain);
  for (let at = 0; at < plain.length; ) {
    const kind = (kinds[at] as number) & (UNSPACED | LETTER | NUMBER);
    if ((kind & UNSPACED) !== 0) {
      const end = endOf(UNSPACED, kinds, at);
      for (; at + 1 < end; at += 1) yield plain.slice(at, at + 2);
      at = end;
    } else if (kind !== 0) {
      const end = endOf(kind, kinds, at);
      if (hasCharacters(kind === LETTER ? LETTERS_MIN : DIGITS_MIN, plain, at, end)) {
        const word = plain.slice(at, end);
        if (!FUNCTION_WORDS.has(word)) yield word.slice(0, STEM_LETTERS);
        at = end;
      } else {
        // A script without spaces may begin inside.
        while (at < end && ((kinds[at] as number) & UNSPACED) === 0) at += 1;
      }
    } else at += 1;
  }
}

/**
 * Names of people, places and products: words with a capital that stand after another word, so that
 * no sentence begins with them.
 */
export function namesIn(text: string): readonly string[] {
  const names: string[] = [];
  let words = 0;
  const kinds = KINDS.of(text);
  for (let at = 0; at < text.length; ) {
    const kind = kinds[at] as number;
    if ((kind & LETTER) === 0) {
      at += 1;
      continue;
    }
    const end = endOf(LETTER, kinds, at);
    words += 1;
    if ((kind & CAPITAL) !== 0 && at > 1 && ((kinds[at - 2] as number) & BEFORE_NAME) !== 0) {
      if (text[at - 1] === " " && hasCharacters(NAME_LETTERS_MIN, text, at, end))
        names.push(text.slice(at, end));
    }
    at = end;
  }
  return names.length > words * NAMES_PART_MAX ? [] : [...new Set(names)];
}

/** The kinds of characters, as bits. A character may have several. */
const KNOWN = 1;
/** A letter of a script without spaces. */
const UNSPACED = 2;
const LETTER = 4;
const NUMBER = 8;
const CAPITAL = 16;
/** A character that may stand before the space before a name. */
const BEFORE_NAME = 32;
const KINDS = new CharacterKinds((character) => {
  const is = (pattern: RegExp, kind: number) => (pattern.test(character) ? kind : 0);
  return (
    KNOWN |
    is(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u, UNSPACED) |
    is(/[\p{L}\p{M}]/u, LETTER) |
    is(/\p{N}/u, NUMBER) |
    is(/\p{Lu}/u, CAPITAL) |
    is(/[\p{Ll}\p{N},;]/u, BEFORE_NAME)
  );
});

/** The end of the characters of a kind that begin at `start`. */
function endOf(kind: number, kinds: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < kinds.length && ((kinds[at] as number) & kind) !== 0) at += 1;
  return at;
}

/** Whether at least `count` characters stand between two places. */
function hasCharacters(count: number, text: string, start: number, end: number): boolean {
  let at = start;
  for (let found = 0; found < count; found += 1) {
    if (at >= end) return false;
    at += sizeAt(text, at);
  }
  return true;
}
