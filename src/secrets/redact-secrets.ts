import { findSecrets } from "./find-secrets.ts";

/** Called with the kind of each replaced credential. */
export type OnRedacted = (kind: string) => void;

/**
 * The text with a note in the place of each credential: `[redacted GitHub token]`. Redacting twice
 * changes nothing more.
 */
export function redactSecrets(text: string, onRedacted?: OnRedacted): string {
  const found = mayHaveSecret(text) ? findSecrets(text) : [];
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

/** The fewest characters, without a space, of an issuer's form or a random value. */
const RUN_MIN = 15;

/** Each credential in a shorter run stands beside one of these. */
const SIGN =
  /:\/\/|-----BEGIN |pass|pwd|key|secret|token|credential|identified|recovery|seed|mnemonic|authorization|cookie|curl|mysql|mariadb|sig=/i;

/**
 * Whether a text is worth the search for credentials. When the answer is no, `findSecrets` finds none.
 *
 * Most messages are ordinary sentences. This costs a tenth of the search.
 */
export function mayHaveSecret(text: string): boolean {
  let run = 0;
  for (let at = 0; at < text.length; at += 1) {
    run = text.charCodeAt(at) <= SPACE ? 0 : run + 1;
    if (run === RUN_MIN) return true;
  }
  return SIGN.test(text);
}

const SPACE = 32;
