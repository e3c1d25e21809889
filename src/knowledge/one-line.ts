import { redactSecrets } from "../secrets/redact-secrets.ts";

/** A text on one line, without secrets, shortened to `charactersMax`. */
export function oneLine(text: string, charactersMax: number): string {
  // A character takes at most two units, so more of them say nothing more.
  const unitsMax = 2 * charactersMax + 1;
  let line = "";
  for (const [word] of redactSecrets(text).matchAll(WORD)) {
    line += `${line === "" ? "" : " "}${word.slice(0, unitsMax)}`;
    if (line.length >= unitsMax) break;
  }
  const characters = [...line];
  return characters.length <= charactersMax
    ? line
    : `${characters.slice(0, charactersMax - 1).join("")}…`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they stand between words.
const WORD = /[^\u0000-\u001f\u007f-\u009f\s]+/g;
