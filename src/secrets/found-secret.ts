/** A credential in a text: from the character `start` up to `end`. */
export interface FoundSecret {
  /** The kind in words: `GitHub token`, `password`. */
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

/**
 * When findings overlap, the first one counts, and of those that begin together the longest. What another one has behind
 * its end stays found.
 */
export function apart(found: FoundSecret[]): FoundSecret[] {
  found.sort((one, other) => one.start - other.start || other.end - one.end);
  const kept: FoundSecret[] = [];
  let end = 0;
  for (const secret of found) {
    if (secret.end <= end) continue;
    kept.push(secret.start < end ? { ...secret, start: end } : secret);
    end = secret.end;
  }
  return kept;
}

/** Calls `see` with each match of a global pattern, in order. */
export function eachMatch(
  pattern: RegExp,
  text: string,
  see: (match: RegExpExecArray) => void,
): void {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) see(match);
}

/** The match of a sticky pattern at a place. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
