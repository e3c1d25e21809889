/** A whole number as people read it: 12 345. */
export function thousands(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, " ");
}
