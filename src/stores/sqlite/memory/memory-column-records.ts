import { newColumns } from "./memory-column-format.ts";
import type { SlotRecords } from "./memory-columns.ts";
import type { Link } from "./memory-slots.ts";
import type { PlacedEntry } from "./memory-words.ts";

/** What is the same in all slots of an entry. */
export interface EntryColumns {
  readonly session: number;
  readonly role: number;
  readonly speaker: number;
  readonly kind: number;
  readonly time: number;
}

/** The columns of entries and of the empty slots that lead on. */
export function recordsOf(
  entries: readonly (PlacedEntry & { readonly columns: EntryColumns })[],
  links: readonly Link[],
): SlotRecords {
  const count = entries.reduce((sum, { passages }) => sum + passages.length, links.length);
  const slots = new Uint32Array(count);
  const columns = newColumns(count);
  let at = 0;
  for (const { slot, passages, columns: own } of entries) {
    for (const [index, { length, flags }] of passages.entries()) {
      slots[at] = slot + index;
      columns.entry[at] = slot;
      columns.length[at] = length;
      columns.session[at] = own.session;
      columns.role[at] = own.role;
      columns.speaker[at] = own.speaker;
      columns.kind[at] = own.kind;
      columns.time[at] = own.time;
      columns.flags[at] = flags;
      at += 1;
    }
  }
  for (const { slot, to } of links) {
    slots[at] = slot;
    columns.entry[at] = to;
    at += 1;
  }
  return { slots, columns };
}
