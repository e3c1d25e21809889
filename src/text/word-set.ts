/** The words of a text that lists them, with spaces or ends of lines between them. */
export function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}
