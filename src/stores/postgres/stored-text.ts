/**
 * PostgreSQL stores every character but U+0000. It becomes U+0001 and a zero. U+0001 itself becomes
 * U+0001 and a one.
 */
export function storedText(text: string): string {
  // Half of a surrogate pair becomes U+FFFD, as in every database.
  const whole = text.toWellFormed();
  if (!whole.includes("\0") && !whole.includes("\u0001")) return whole;
  return whole.replaceAll("\u0001", "\u00011").replaceAll("\0", "\u00010");
}

export function textOf(stored: string): string {
  if (!stored.includes("\u0001")) return stored;
  return stored.replaceAll("\u00010", "\0").replaceAll("\u00011", "\u0001");
}
