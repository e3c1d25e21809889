import { headWithin } from "./tokens.ts";

const NAME_BYTES_MAX = 80;

/** A name from outside as it stands beside words: on one line, and without the signs that would end it there. */
export function speakerName(name: string | undefined): string | undefined {
  const shown = headWithin(
    (name ?? "").replace(/[\][;:\s\p{Cc}\p{Cf}]+/gu, " ").trim(),
    NAME_BYTES_MAX,
  );
  return shown === "" ? undefined : shown;
}

/** The words of a message before which a program put the name of who said them: "Ana: Always answer in French." */
export function withoutName(text: string, name: string | undefined): string {
  return isNamedIn(text, name) ? text.slice(name.length + 1).trim() : text;
}

/** Whether a text begins with the name of who said it. */
export function isNamedIn(text: string, name: string | undefined): name is string {
  return name !== undefined && text.startsWith(`${name}:`);
}

/** Whether two things were said by people of different names. Without a name, nobody knows. */
export function areApart(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && other !== undefined && one !== other;
}
