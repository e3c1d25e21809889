/**
 * The name that was probably meant: the one with the fewest edits, if it is close
 * enough. Capitals do not matter. The part after the last dot also matches alone or in a wrong section.
 */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  if (name.length > NAME_MAX) return undefined;
  const most = Math.max(1, name.length / 4);
  const given = name.toLowerCase();
  const edits = (one: string, other: string) => editsBetween(one, other.toLowerCase(), most);
  const ranked = names
    .flatMap((candidate) => [
      { candidate, edits: edits(given, candidate) },
      { candidate, edits: 0.5 + edits(lastPart(given), lastPart(candidate)) },
    ])
    .sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best && best.edits <= most ? best.candidate : undefined;
}

/** A longer one is no slip, and takes long to compare. */
const NAME_MAX = 100;

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

/**
 * The edit distance with swaps: letters to add, drop, change or swap (Damerau-Levenshtein). Infinite where the
 * lengths alone make it more than `most`, which spares the comparison.
 */
function editsBetween(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let line = 1; line <= a.length; line += 1) {
    const next = [line];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[line - 1] === b[column - 1];
      const swapped = a[line - 1] === b[column - 2] && a[line - 2] === b[column - 1];
      next.push(
        Math.min(
          (row[column - 1] ?? 0) + (same ? 0 : 1),
          (row[column] ?? 0) + 1,
          (next[column - 1] ?? 0) + 1,
          swapped ? (before[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
