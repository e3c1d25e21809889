import type { Origin } from "../core/event.ts";
import { given, isObject } from "../core/fields.ts";
import { type Message, summaryMessage } from "../core/message.ts";
import type { FoundFile } from "./found-file.ts";
import {
  type AgentName,
  answerText,
  answerThinking,
  type ImportedMessage,
  type ImportedSession,
  type ImportNotes,
  messagesFor,
  toolCall,
  toolResult,
} from "./imported.ts";
import { type Json, parsedJson } from "./json-fields.ts";
import { CUT_OFF, readJsonValues } from "./read-objects.ts";

/** The fields of a session, besides its messages, that a file may have. */
type About = {
  readonly [Field in keyof Omit<ImportedSession, "id" | "agent" | "nativeId" | "messages">]?:
    | ImportedSession[Field]
    | undefined;
};

export function importedSession(
  agent: AgentName,
  nativeId: string,
  messages: AsyncIterable<ImportedMessage>,
  about: About,
): ImportedSession {
  const said = messagesFor(about.parent, messages);
  return { id: `${agent}:${nativeId}`, agent, nativeId, ...given(about), messages: said };
}

/** The session that called a subagent, if one did. */
export function callerOf(agent: AgentName, id: string | undefined): ImportedSession["parent"] {
  return id === undefined ? undefined : { id: `${agent}:${id}`, relation: "subagent" };
}

/** The fields that all parts of a record have. */
export interface PartOf {
  readonly time?: string | undefined;
  readonly author?: Origin["author"];
  readonly line?: number | undefined;
  /** Neighbours with the same group are one message. */
  readonly group?: string | undefined;
}

function part(
  sourceId: string,
  message: Message,
  { author, time, line, group }: PartOf,
): ImportedMessage {
  return { sourceId, message, origin: given({ author, time }), ...given({ line, group }) };
}

/** Something that a person typed. */
export function prompt(id: string, content: string, of: PartOf): ImportedMessage {
  return part(id, { role: "user", content }, { ...of, author: "user", group: undefined });
}

export function answer(id: string, text: string, of: PartOf): ImportedMessage {
  return part(id, answerText(text), of);
}

export function thinking(id: string, text: string, of: PartOf): ImportedMessage {
  return { ...part(id, answerThinking(text), of), memory: false };
}

/** An answer, and before it the thoughts that some models write into it: `<think>…</think>` at its start. */
export function* thoughtAndSaid(id: string, text: string, of: PartOf): Generator<ImportedMessage> {
  const begun = text.trimStart();
  const isThought = begun.startsWith(OPEN);
  // An answer that was cut off may have no more than its thoughts.
  const [thought = "", ...rest] = isThought ? begun.slice(OPEN.length).split(CLOSE) : ["", text];
  const said = isThought ? rest.join(CLOSE).trim() : text;
  if (thought.trim() !== "") yield thinking(`${id}:think`, thought.trim(), of);
  if (said !== "") yield answer(id, said, of);
}

const OPEN = "<think>";
const CLOSE = "</think>";

export function call(
  id: string,
  {
    callId,
    name,
    args,
  }: { readonly callId: string; readonly name: string; readonly args: unknown },
  of: PartOf,
): ImportedMessage {
  return part(id, toolCall(callId, name || "unknown_tool", args), of);
}

export function result(
  id: string,
  {
    callId,
    text,
    isError = false,
  }: { readonly callId: string; readonly text: string; readonly isError?: boolean },
  of: PartOf,
): ImportedMessage {
  return part(id, toolResult(callId, text, isError), of);
}

/** The summary that took the place of earlier messages. */
export function summary(id: string, text: string, { group: _, ...of }: PartOf): ImportedMessage {
  return { ...part(id, summaryMessage(text), of), memory: false, boundary: "compaction" };
}

/** A text of the program for the model. */
export function instruction(
  id: string,
  content: string,
  { group: _, ...of }: PartOf,
): ImportedMessage {
  return { ...part(id, { role: "system", content }, of), memory: false };
}

const OBJECT_BYTES_MAX = 256 * 1024 * 1024;

/** The object that a file is. It has to be read as a whole. */
export async function wholeObject(file: FoundFile, notes: ImportNotes): Promise<Json | undefined> {
  for await (const value of readJsonValues(file.read(), OBJECT_BYTES_MAX)) {
    if (value.problem) {
      notes.skip(file, undefined, `it is longer than ${OBJECT_BYTES_MAX} bytes, or not UTF-8`);
      return undefined;
    }
    const object = parsedJson(value.text);
    if (isObject(object)) return object;
    notes.skip(file, undefined, object === undefined ? CUT_OFF : "it is not a JSON object");
    return undefined;
  }
  return undefined;
}

/** Gives each text its number among the same texts, so that ids made of texts are the same in each file that has them. */
export class Repeats {
  readonly #times = new Map<string, number>();

  next(key: string): number {
    const times = (this.#times.get(key) ?? 0) + 1;
    this.#times.set(key, times);
    return times;
  }
}
