/** A word as it can be pasted into a shell: a hint may have a path or an id that someone else chose. */
export function shellWord(word: string): string {
  if (/^[\w.:/@%+=,][\w.:/@%+=,-]*$/.test(word)) return word;
  return `'${word.replaceAll("'", "'\\''")}'`;
}
