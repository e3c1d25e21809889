import { readdirSync, readFileSync } from "node:fs";
import type { MemoryEntry } from "rkat";

/** What makes a question hard. */
export const KINDS = [
  "plain",
  "forms",
  "compound",
  "spelling",
  "typo",
  "paraphrase",
  "identifier",
  "time",
  "changed",
  "defined",
  "order",
  "short",
  "nothing",
] as const;

export type Kind = (typeof KINDS)[number];

export interface AskedNote {
  readonly kind: Kind;
  readonly language: string;
  readonly text: string;
  /** The note that answers it; `undefined` when none does. */
  readonly answer: string | undefined;
  /** When and where it is asked. */
  readonly at: string;
}

export interface FindingSet {
  readonly notes: readonly MemoryEntry[];
  readonly questions: readonly AskedNote[];
}

/**
 * The first set is the one that searches were tuned on. The second was written, and measured once, by someone who had
 * seen neither its rules nor the first set's questions. In the third, most questions without an answer ask for another thing
 * about what a note is about: the hardest ones. The fourth was written, and measured once, as the second was. Its questions
 * without an answer are about other subjects, near ones, and other things about what a note is about. The fifth was written
 * and measured once in the same way. Each of its questions without an answer shares the subject of the note above it. The sixth was written in that way too; its
 * questions without an answer ask for another thing of the same person, or for the same thing of another.
 */
export const SETS = ["first", "second", "third", "fourth", "fifth", "sixth"] as const;

export type SetName = (typeof SETS)[number];

/** When and where the questions are asked, unless they have a day: on a Thursday. */
export const ASKED_AT = "2026-11-26T10:00:00+01:00[Europe/Berlin]";

const FOLDERS: Readonly<Record<SetName, URL>> = {
  first: new URL("./notes/", import.meta.url),
  second: new URL("./second/", import.meta.url),
  third: new URL("./third/", import.meta.url),
  fourth: new URL("./fourth/", import.meta.url),
  fifth: new URL("./fifth/", import.meta.url),
  sixth: new URL("./sixth/", import.meta.url),
};
const SESSION_NOTES = 10;

/**
 * Notes in many languages, and the questions about them. A file has the notes of a language. Each is followed by the
 * questions that it answers, with their kinds:
 *
 *     # 2026-02-11 Der Schlüssel für den Serverraum liegt beim Hausmeister.
 *     plain: Wo liegt der Schlüssel für den Serverraum?
 *     compound: Serverraumschlüssel
 *     time@2026-02-12: Was habe ich gestern notiert?
 */
export function findingSet(name: SetName = "first"): FindingSet {
  const folder = FOLDERS[name];
  const questions: AskedNote[] = [];
  const notes: { readonly id: string; readonly time: string; readonly content: string }[] = [];
  for (const file of readdirSync(folder).sort()) {
    const language = file.replace(/(?:-\w+)?\.txt$/, "");
    let answer: string | undefined;
    for (const line of readFileSync(new URL(file, folder), "utf8").trim().split("\n")) {
      const [, day, content] = /^# (\S+) (.+)$/.exec(line) ?? [];
      if (day !== undefined && content !== undefined) {
        answer = `${language}:${notes.length}`;
        notes.push({ id: answer, time: `${day}T10:00:00.000Z`, content });
        continue;
      }
      const [, named, asked, text = ""] = /^(\w+)(?:@(\S+))?: ?(.*)$/.exec(line) ?? [];
      const kind = KINDS.find((one) => one === named);
      if (kind === undefined) throw new Error(`${file}: "${line}" has no kind.`);
      if (text === "") continue;
      const at = asked === undefined ? ASKED_AT : `${asked}T10:00:00Z`;
      questions.push({ kind, language, text, answer: kind === "nothing" ? undefined : answer, at });
    }
  }
  return { notes: inOrder(notes), questions };
}

/** By time, as people write them: ten of a session, whatever their language. */
function inOrder(
  notes: readonly { readonly id: string; readonly time: string; readonly content: string }[],
): MemoryEntry[] {
  return notes
    .toSorted((one, other) => (one.time < other.time ? -1 : one.time > other.time ? 1 : 0))
    .map((note, at) => ({
      ...note,
      sessionId: `notes ${Math.floor(at / SESSION_NOTES)}`,
      turn: at % SESSION_NOTES,
      kind: "message",
      role: "user",
    }));
}
