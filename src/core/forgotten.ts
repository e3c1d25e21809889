/** What stands in the place of a text that somebody had forgotten. */
export const FORGOTTEN = "[forgotten]";

/** Whether nothing but the marker is left of a text. */
export function isForgotten(text: string): boolean {
  return text.includes(FORGOTTEN) && text.replaceAll(FORGOTTEN, "").trim() === "";
}
