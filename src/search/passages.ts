/** The most words of a passage: about a paragraph. */
export const PASSAGE_WORDS_MAX = 60;

/**
 * Cuts a text into passages of at most 60 words, at the ends of sentences and lines where possible.
 * A long message is about many things, a passage about one. A message is as good a result as its
 * best passage.
 */
export function passages(text: string): string[] {
  const found: string[] = [];
  let passage: string[] = [];
  for (const sentence of text.split(SENTENCE_END)) {
    for (const piece of pieces(sentence)) {
      if (passage.length > 0 && passage.length + piece.length > PASSAGE_WORDS_MAX) {
        found.push(passage.join(" "));
        passage = [];
      }
      passage.push(...piece);
    }
  }
  if (passage.length > 0) found.push(passage.join(" "));
  return found;
}

const SENTENCE_END = /(?<=[.!?])\s+|(?<=[。！？])|\n+/;

/** Longer words are cut. In scripts without spaces, a paragraph would be one word. */
const WORD_CHARACTERS = 200;
const LONG_WORD = new RegExp(`[^]{1,${WORD_CHARACTERS}}`, "gu");

function* pieces(sentence: string): Iterable<string[]> {
  const all = sentence
    .split(/\s+/)
    .filter((word) => word !== "")
    .flatMap((word) => (word.length > WORD_CHARACTERS ? (word.match(LONG_WORD) ?? []) : [word]));
  for (let start = 0; start < all.length; start += PASSAGE_WORDS_MAX) {
    yield all.slice(start, start + PASSAGE_WORDS_MAX);
  }
}
