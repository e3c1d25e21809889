/** So many slots that follow each other are looked at together, or left out together. */
export const STRETCH = 64;

export function stretchOf(slot: number): number {
  return Math.floor(slot / STRETCH);
}
