import { requireArgument, someText } from "../core/options.ts";
import { findSecrets } from "./find-secrets.ts";

/** Called with the kind of each replaced credential. */
export type OnRedacted = (kind: string) => void;

/**
 * The text with a note in the place of each credential: `[redacted GitHub token]`. Redacting twice
 * changes nothing more.
 */
export function redactSecrets(text: string, onRedacted?: OnRedacted): string {
  if (typeof text !== "string") requireArgument("redactSecrets", someText, text);
  let redacted = text;
  // In a damaged text, what is left of a credential may look like one only when its other part is gone.
  for (let pass = 0; pass < PASSES_MAX; pass += 1) {
    const before = redacted;
    redacted = redactOnce(before, onRedacted);
    if (redacted === before) break;
  }
  return redacted;
}

const PASSES_MAX = 4;

function redactOnce(text: string, onRedacted: OnRedacted | undefined): string {
  const found = findSecrets(text);
  if (found.length === 0) return text;
  const parts: string[] = [];
  let at = 0;
  for (const { kind, start, end } of found) {
    parts.push(text.slice(at, start), `[redacted ${kind}]`);
    onRedacted?.(kind);
    at = end;
  }
  return parts.join("") + text.slice(at);
}

/** The entries of memory with a note in the place of each credential. */
export function redactEntries<Entry extends { readonly content: string }>(
  entries: readonly Entry[],
): readonly Entry[] {
  return entries.map((entry) => {
    const content = redactSecrets(entry.content);
    return content === entry.content ? entry : { ...entry, content };
  });
}

/** How many credentials of each kind are in the texts. */
export function countSecrets(texts: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { kind } of texts.flatMap(findSecrets)) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
