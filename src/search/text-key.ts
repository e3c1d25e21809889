import { foldText } from "./fold-text.ts";
import { words } from "./words.ts";

/** Two texts with the same key count as the same text. It is the words of the text, or its characters if it has no words. */
export function textKey(text: string): string {
  return words(text).join(" ") || foldText(text).replace(/\s+/g, " ").trim();
}
