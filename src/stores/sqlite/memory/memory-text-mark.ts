import { foldText } from "../../../search/fold-text.ts";
import { stem } from "../../../search/stem.ts";
import { hashOfKey } from "../../../search/text-key.ts";
import { words } from "../../../search/words.ts";
import { textsOf } from "./memory-passages.ts";

/**
 * By what the index finds an entry that is asked for by its whole text: a word that no text
 * has, and hits. Texts of the same words have the same mark; a few others have it, too.
 */
export interface TextMark {
  readonly word: string;
  readonly hits: number;
}

/** Of the hashes of all words that a text says, each once: their sum, wherever the text was cut. */
export function markOfHash(hash: number): TextMark {
  return { word: `=${((hash >>> 8) & 0xfff).toString(16)}`, hits: hash & 0xff };
}

/** In place of that sum, for a text that says no words. */
export function wordlessHash(text: string): number {
  return hashOfKey(foldText(text).replace(/\s+/g, " ").trim());
}

export function textMark(text: string): TextMark {
  const said = new Set<string>();
  for (const passage of textsOf(text)) for (const word of words(passage)) said.add(stem(word));
  let hash = said.size > 0 ? 0 : wordlessHash(text);
  for (const word of said) hash = (hash + hashOfKey(word)) >>> 0;
  return markOfHash(hash);
}
