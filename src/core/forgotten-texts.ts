/**
 * Which texts were forgotten, so that an import does not bring them back. It keeps no text: only a
 * hash of each, with a secret key of the store.
 *
 * A text of 20 characters or more is forgotten wherever it is said. A shorter one, such as "Yes, do
 * it.", is forgotten in its session only. White space does not count.
 */
export interface ForgottenTexts {
  add(sessionId: string, texts: readonly string[]): Promise<void>;
  /** For each text, whether it was forgotten. It is quick when nothing was. */
  has(sessionId: string, texts: readonly string[]): Promise<readonly boolean[]>;
}

const DISTINCTIVE_CHARACTERS = 20;
const KEY_BYTES = 32;

/** A secret key for a new store. */
export function newForgettingKey(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(KEY_BYTES));
}

/** What stands for each text; undefined for a blank one. */
export async function forgottenMarks(
  key: Uint8Array,
  sessionId: string,
  texts: readonly string[],
): Promise<readonly (string | undefined)[]> {
  // Loaded here, because most commands forget nothing.
  const { createHmac } = await import("node:crypto");
  return texts.map((text) => {
    const words = text.normalize("NFC").split(/\s+/u).filter(Boolean).join(" ");
    if (words === "") return undefined;
    const session = words.length < DISTINCTIVE_CHARACTERS ? sessionId : "";
    return createHmac("sha256", key).update(`${session}\n${words}`).digest("base64url");
  });
}
