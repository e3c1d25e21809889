/** A text as one part of an address. Half a character, which no address can have, becomes U+FFFD, as stores keep it. */
export function urlPart(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
