export interface PassageOptions {
  /** Letters that it has, at the most. */
  readonly length: number;
  /** What to show if the text has it; otherwise the part with most of the question's words. */
  readonly around: string;
  readonly mark: (word: string) => string;
}

/** The part of a text that answers a question best, on one line, with the question's words marked. */
export function passage(text: string, question: string, options: PassageOptions): string {
  const { length, around, mark } = options;
  const line = oneSpaced(text);
  const asked = new Set(wordsOf(question).map(({ word }) => word));
  const found = wordsOf(line).filter(({ word }) => word.length > 3 && asked.has(word));
  const reach = Math.floor(length / 2) - 1;
  const at = line.indexOf(around);
  const middle = at >= 0 ? at + around.length / 2 : densest(found, reach);
  const start = middle <= reach ? 0 : line.indexOf(" ", middle - reach) + 1;
  const end =
    line.length - start <= length ? line.length : line.lastIndexOf(" ", start + 2 * reach);
  let shown = start > 0 ? "…" : "";
  let from = start;
  for (const { index, word } of found) {
    if (index < from || index + word.length > end) continue;
    shown += line.slice(from, index) + mark(line.slice(index, index + word.length));
    from = index + word.length;
  }
  return shown + line.slice(from, end) + (end < line.length ? "…" : "");
}

export function oneSpaced(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

interface Word {
  readonly word: string;
  readonly index: number;
}

function wordsOf(text: string): readonly Word[] {
  const words = text.matchAll(/[\p{L}\p{N}]+/gu);
  return [...words].map(({ 0: word, index }) => ({ word: word.toLowerCase(), index }));
}

/** Where most words are near. */
function densest(found: readonly Word[], reach: number): number {
  const near = ({ index }: Word) =>
    found.filter((other) => Math.abs(other.index - index) <= reach).length;
  const most = Math.max(0, ...found.map(near));
  return found.find((word) => near(word) === most)?.index ?? 0;
}
