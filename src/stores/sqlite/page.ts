/** Characters of JSON that one command handles: enough to be fast, and over soon. */
const PAGE_MAX = 1_000_000;

/** The first rows, up to a page of text. */
export function page<Row extends { readonly event: string }>(
  rows: Iterable<Row>,
): { readonly events: readonly Row[]; readonly more: boolean } {
  const events: Row[] = [];
  let size = 0;
  for (const row of rows) {
    if (size >= PAGE_MAX) return { events, more: true };
    events.push(row);
    size += row.event.length;
  }
  return { events, more: false };
}
