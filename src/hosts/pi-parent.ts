import { objectOf, parsedJson, textOf } from "../transcripts/json-fields.ts";
import { demandsIn } from "../window/demands.ts";
import type { PiMessage } from "./pi-api.ts";
import { fromPiMessages } from "./pi-messages.ts";

/** Programs that pi starts have its environment, and there the name of the file of its session. */
const PARENT = "PI_RKAT_PARENT";

/** The file of the session whose pi started this one. Other sessions of this process are not its parents. */
const STARTED_BY = process.env[PARENT];

/** Names a session with a file to the programs that it starts. Returns the file of the parent of a session without one. */
export function parentOf(file: string | undefined): string | undefined {
  if (file !== undefined) process.env[PARENT] = file;
  return file === undefined ? STARTED_BY : undefined;
}

/** The standing instructions of the person in a session, from the text of its file. Left branches do not count. */
export function demandsInFile(text: string): readonly string[] {
  const entries = text.split("\n").map((line) => objectOf(parsedJson(line)));
  const byId = new Map(entries.map((entry) => [textOf(entry.id), entry]));
  const messages: PiMessage[] = [];
  const last = entries.findLast(({ id, parentId }) => id !== undefined && parentId !== undefined);
  for (let at = last; at; at = byId.get(textOf(at.parentId))) {
    byId.delete(textOf(at.id));
    if (at.type === "message") messages.unshift(objectOf(at.message) as PiMessage);
  }
  const typed = fromPiMessages(messages.filter(({ role }) => role === "user"));
  const demands = demandsIn(typed, { read: (message) => ({ message }) }, "");
  return demands.map(({ content }) => content);
}

/** A parent's standing instructions, for the model of a child. Each is one line. */
export function demandsText(demands: readonly string[]): string {
  const lines = demands.map((each) => `\n- ${each}`).join("");
  return (
    lines && `[Standing instructions] The person said in the session that started this one:${lines}`
  );
}
