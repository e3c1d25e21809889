/** Characters that are written onto the one before them, also after they are normalised. */
const MARK = String.raw`[\p{M}\uff9e\uff9f]`;
const BEYOND_30 = new RegExp(`(${MARK}{30})${MARK}+`, "gu");

/**
 * A normal form of Unicode. The engine sorts the marks of a letter in a time that grows with their square, so a letter keeps 30, as in
 * the stream-safe text format of Unicode.
 */
export function normalForm(text: string, form: "NFC" | "NFKC" | "NFKD"): string {
  return text.replace(BEYOND_30, "$1").normalize(form);
}
