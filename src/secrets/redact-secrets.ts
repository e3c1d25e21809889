import { findSecrets } from "./find-secrets.ts";

/** The text with a note in the place of each credential: `[redacted GitHub token]`. */
export function redactSecrets(text: string): string {
  return redactAndCount(text).text;
}

export interface Redacted {
  readonly text: string;
  /** How many of each kind were replaced. */
  readonly counts: Readonly<Record<string, number>>;
}

/** The same, with what was replaced by kind. Redacting twice changes nothing more. */
export function redactAndCount(text: string): Redacted {
  const found = findSecrets(text);
  if (found.length === 0) return { text, counts: {} };
  const counts: Record<string, number> = {};
  const parts: string[] = [];
  let at = 0;
  for (const { kind, start, end } of found) {
    parts.push(text.slice(at, start), `[redacted ${kind}]`);
    counts[kind] = (counts[kind] ?? 0) + 1;
    at = end;
  }
  return { text: parts.join("") + text.slice(at), counts };
}
