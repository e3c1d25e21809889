import { oneSpaced } from "./played-session.ts";

/** Whether a text has a sentence, word for word. */
export function says(text: string, sentence: string): boolean {
  return oneSpaced(text).includes(sentence);
}

/** Whether a line with a sentence says before it who said it. */
export function saysWho(text: string, sentence: string, name: string): boolean {
  return text.split("\n").some((line) => {
    const at = oneSpaced(line).indexOf(sentence);
    return at >= 0 && oneSpaced(line).slice(0, at).includes(name);
  });
}

/** Whether a sentence stands below a heading that names its session and the day. */
export function saysWhen(
  text: string,
  sentence: string,
  { session, day }: { readonly session: string; readonly day: string },
): boolean {
  let heading = "";
  for (const line of text.split("\n")) {
    if (line.endsWith(":")) heading = line;
    else if (says(line, sentence) && heading.includes(session) && heading.includes(day))
      return true;
  }
  return false;
}
