export function wordBytes(word: string): Uint8Array {
  return Buffer.from(word);
}

/** Compares words by their UTF-8, as databases do. */
export function compareWords(one: string, other: string): number {
  const shorter = Math.min(one.length, other.length);
  for (let index = 0; index < shorter; index += 1) {
    const [a, b] = [one.charCodeAt(index), other.charCodeAt(index)];
    if (a !== b) return rank(a) - rank(b);
  }
  return one.length - other.length;
}

/** Sorts words as `compareWords` does. */
export function sortWords(words: string[]): string[] {
  words.sort();
  return /[\ud800-\udfff]/.test(words.join()) ? words.sort(compareWords) : words;
}

/** JavaScript sorts the halves of characters beyond U+FFFF before U+E000; UTF-8 sorts them behind. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x2000 : unit >= 0xe000 ? unit - 0x800 : unit;
}
