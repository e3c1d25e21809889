import { NOTHING, unicodePattern } from "./unicode-pattern.ts";

/**
 * The text with every hidden character shown: `rm -rf <U+202E>`. Otherwise a text could read
 * differently from what it says, for example backwards.
 *
 * Characters that join or style an emoji stay, and so do those that join letters in Arabic and
 * Indic scripts.
 */
export function visibleText(text: string): string {
  return text.replace(HIDDEN(text), visibleCode);
}

/** A character by its number: `<U+202E>`. */
export function visibleCode(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}

/** Whether a text has no control characters and no hidden ones. */
export function isPlain(text: string): boolean {
  return !/\p{Cc}/u.test(text) && visibleText(text) === text;
}

/** An emoji may also be cut at the edge of a text, because models send texts in parts. */
const IN_EMOJI = String.raw`(?<=^|\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F)\u200D(?=\p{Extended_Pictographic}|$)|(?<=\p{Extended_Pictographic}|[0-9#*])[\uFE0E\uFE0F]`;
const JOINED_SCRIPTS = ["Arab", "Beng", "Deva", "Gujr", "Guru", "Knda", "Mlym", "Orya", "Sinh"]
  .concat("Taml", "Telu")
  .map((script) => String.raw`\p{scx=${script}}`)
  .join("");
const BETWEEN_LETTERS = String.raw`(?<=[${JOINED_SCRIPTS}])[\u200C\u200D]`;
const UNSEEN = String.raw`[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Zl}\p{Zp}\u2800\uFFF9-\uFFFB]`;

const HIDDEN = unicodePattern(NOTHING, {
  source: `(?!${IN_EMOJI}|${BETWEEN_LETTERS})${UNSEEN}`,
  flags: "gu",
});
