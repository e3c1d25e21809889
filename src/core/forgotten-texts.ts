import { normalForm } from "../text/character-kinds.ts";

/**
 * The texts that were forgotten, so that an import does not bring them back. It keeps no text: only a
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

/** All forgotten texts, for a copy of them in another store. */
export interface ForgottenMarks {
  /** The marks of all forgotten texts, and the keys that they were made with. They are as secret as the store. */
  copy(): Promise<readonly string[]>;
  /** Adds what another store has. What was forgotten there is forgotten here too. */
  restore(copy: readonly string[]): Promise<void>;
}

const DISTINCTIVE_CHARACTERS = 20;
const KEY_BYTES = 32;

/** A secret key for a new store. */
export function newForgettingKey(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(KEY_BYTES));
}

/** A key that came from another store is kept among the marks. No mark has a space in it. */
const KEY = "key ";

/** The part that moves to another store: the key, and the hashes. */
export function forgottenCopy(key: Uint8Array, kept: readonly string[]): readonly string[] {
  return [KEY + Buffer.from(key).toString("base64url"), ...kept];
}

/** For each text, the marks of it with the store's own key and with those of other stores. */
export function marksOfEach(
  own: Uint8Array | undefined,
  kept: readonly string[],
  sessionId: string,
  texts: readonly string[],
): readonly (readonly string[])[] {
  const others = kept
    .filter((mark) => mark.startsWith(KEY))
    .map((mark) => Buffer.from(mark.slice(KEY.length), "base64url"));
  const keys = [...(own ? [own] : []), ...others];
  const byKey = keys.map((key) => forgottenMarks(key, sessionId, texts));
  return texts.map((_, index) => byKey.flatMap((marks) => marks[index] ?? []));
}

/** A mark of each text; undefined for a blank one. */
export function forgottenMarks(
  key: Uint8Array,
  sessionId: string,
  texts: readonly string[],
): readonly (string | undefined)[] {
  // Loaded here, because most commands forget nothing.
  const { createHmac } = process.getBuiltinModule("node:crypto");
  return texts.map((text) => {
    const words = normalForm(text, "NFC").split(/\s+/u).filter(Boolean).join(" ");
    if (words === "") return undefined;
    const session = words.length < DISTINCTIVE_CHARACTERS ? sessionId : "";
    return createHmac("sha256", key).update(`${session}\n${words}`).digest("base64url");
  });
}
