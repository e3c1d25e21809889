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

/** Entries that were redacted before: a service does it, and the store behind it does not again. */
const REDACTED = new WeakSet<object>();

/** The entries with a note in the place of each credential, and what was replaced by kind. */
export function redactEntries<Entry extends { readonly content: string }>(
  entries: readonly Entry[],
): { readonly entries: readonly Entry[]; readonly counts: Readonly<Record<string, number>> } {
  const counts: Record<string, number> = {};
  const redacted = entries.map((entry) => {
    if (REDACTED.has(entry)) return entry;
    const { text: content, counts: found } = redactAndCount(entry.content);
    for (const [kind, count] of Object.entries(found)) counts[kind] = (counts[kind] ?? 0) + count;
    const clean = { ...entry, content };
    REDACTED.add(clean);
    return clean;
  });
  return { entries: redacted, counts };
}
