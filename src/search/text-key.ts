import { foldText, words } from "./words.ts";

/** Two texts with the same key count as the same text. It is the words of the text, or its characters if it has no words. */
export function textKey(text: string): string {
  return words(text).join(" ") || foldText(text).replace(/\s+/g, " ").trim();
}

/** A number to look a key up by. Two keys may share one. */
export function hashOfKey(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
