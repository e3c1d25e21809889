import { redactSecrets } from "../secrets/redact-secrets.ts";

/** A text on one line, without secrets, shortened to `charactersMax`. */
export function oneLine(text: string, charactersMax: number): string {
  const line = redactSecrets(text)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to go.
    .replace(/[\u0000-\u001f\u007f-\u009f\s]+/g, " ")
    .trim();
  const characters = [...line];
  return characters.length <= charactersMax
    ? line
    : `${characters.slice(0, charactersMax - 1).join("")}…`;
}
