import { foldText } from "./fold-text.ts";
import { words } from "./words.ts";

/** The form in which two texts are the same: their words, or, of a text without any, its characters. */
export function textKey(text: string): string {
  return words(text).join(" ") || foldText(text).replace(/\s+/g, " ").trim();
}

/** A number for the key by which it is looked up; two keys may share one. */
export function hashOfKey(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
