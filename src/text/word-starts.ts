/**
 * Makes a test whether any word of a text begins with one of these: letters, at least two each, as they are written. A pattern with
 * hundreds of alternatives does the same, and takes milliseconds to compile.
 */
export function hasWordThatBegins(words: Iterable<string>): (text: string) => boolean {
  const byStart = Map.groupBy(words, (word) => word.slice(0, 2));
  return (text) => {
    for (const { 0: start, index } of text.matchAll(WORD_START)) {
      if (byStart.get(start)?.some((word) => text.startsWith(word, index))) return true;
    }
    return false;
  };
}

const WORD_START = /(?<![\p{L}\p{N}])[\p{L}\p{N}]{2}/gu;
