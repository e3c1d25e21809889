/** Slots are scored, or skipped, in blocks of 64: slots 0 to 63, 64 to 127, and so on. */
export const BLOCK = 64;

export function blockOf(slot: number): number {
  return Math.floor(slot / BLOCK);
}
