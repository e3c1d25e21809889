import { basename, join } from "node:path";
import { given, isObject } from "../core/fields.ts";
import { jsonText } from "../core/json-values.ts";
import { withoutBlocks } from "../text/quoting.ts";
import type { FoundFile } from "./found-file.ts";
import type { ImportedMessage, ImportedSession, ImportFormat, ImportNotes } from "./imported.ts";
import {
  contentText,
  type Json,
  listOf,
  nameOf,
  objectOf,
  parsedJson,
  textOf,
  timeOf,
  titleOf,
} from "./json-fields.ts";
import {
  answer,
  call,
  callerOf,
  importedSession,
  type PartOf,
  prompt,
  result,
  summary,
  thinking,
  wholeObject,
} from "./parts.ts";
import { noteNoSession, readRecords } from "./read-records.ts";

/**
 * The sessions of Gemini CLI. Its records change earlier ones:
 *
 *     { sessionId, startTime, … }      the head
 *     { id, type, content, … }         a message; the same id again replaces it
 *     { $rewindTo: id }                this message and all after it are taken back
 *     { $set: { messages: […] } }      these are the messages from now on: the others are taken back, or, where
 *                                      one is a summary, were compressed
 *
 * So a first reading finds where each message that stays was written last, and a second one reads those. Before 2026
 * a session was one JSON object.
 */
export const geminiFormat: ImportFormat = {
  agent: "gemini",
  places: ({ env, home }) => [join(env.GEMINI_CLI_HOME || home, ".gemini", "tmp")],
  mayBe: (path) => /(?:^|\/)chats\/(?:[^/]+\/)?[^/]+\.jsonl?$/.test(path),
  recognises: ({ first, head }) => {
    if (first && isHead(first)) return true;
    const text = new TextDecoder().decode(head);
    if (first) return isRecord(first) && hasAnswer(text);
    return text.trimStart().startsWith("{") && /"sessionId"[^{]*"projectHash"/.test(text);
  },
  async *read(file, notes) {
    const whole = /\.json$/.test(file.path) ? await wholeSession(file, notes) : undefined;
    if (whole) {
      const users = listOf(whole.messages)
        .map(objectOf)
        .filter(({ type }) => type === "user");
      const prompt = users.map(typedText).find((text) => text !== "");
      const messages = listedMessages(whole, notes);
      yield sessionOf(whole, parentIn(file.path), messages, prompt);
    }
    if (!/\.json$/.test(file.path)) {
      const outline = await outlineOf(file);
      // A head that is torn or lost leaves the name of the file, which has a part of the session's id.
      const sessionId =
        outline.head.sessionId ?? (outline.places.length > 0 && basename(file.path, ".jsonl"));
      if (!sessionId) return await noteNoSession(file, notes);
      const head = { ...outline.head, sessionId };
      notes.otherBranch(outline.taken);
      const messages = writtenMessages(file, { ...outline, head }, notes);
      const prompt = outline.places.find((place) => place.prompt !== undefined)?.prompt;
      yield sessionOf(head, parentIn(file.path), messages, prompt);
    }
  },
};

function isHead(value: Json): boolean {
  return (
    typeof value.sessionId === "string" &&
    ("projectHash" in value || "startTime" in value) &&
    !("uuid" in value)
  );
}

/** A message, or a change of the head. */
function isRecord(value: Json): boolean {
  return "$set" in value || "$rewindTo" in value || (typeof value.id === "string" && !value.uuid);
}

/** Whether one of the first lines is an answer of Gemini: no other agent writes this type. */
function hasAnswer(text: string): boolean {
  return text.split("\n", LINES_TRIED).some((line) => {
    const { id, type, content } = objectOf(parsedJson(line));
    return typeof id === "string" && type === "gemini" && content !== undefined;
  });
}

const LINES_TRIED = 50;

/** A subagent's file is in a folder that is named by the session: `chats/<session>/<own>.jsonl`. */
function parentIn(path: string): string | undefined {
  return /(?:^|[/\\])chats[/\\]([^/\\]+)[/\\][^/\\]+$/.exec(path)?.[1];
}

function sessionOf(
  head: Json,
  parentId: string | undefined,
  messages: AsyncIterable<ImportedMessage>,
  prompt = "",
): ImportedSession {
  const about = {
    parent: callerOf("gemini", parentId),
    title: nameOf(head.summary) ?? titleOf(prompt),
    project: nameOf(listOf(head.directories)[0]),
    startedAt: timeOf(head.startTime),
    updatedAt: timeOf(head.lastUpdated),
  };
  return importedSession("gemini", textOf(head.sessionId), messages, about);
}

/** The old form is one object. */
async function wholeSession(file: FoundFile, notes: ImportNotes): Promise<Json | undefined> {
  const session = await wholeObject(file, notes);
  if (session === undefined || typeof session.sessionId === "string") return session;
  return void notes.skip(file, undefined, "it is not a session of Gemini CLI");
}

async function* listedMessages(session: Json, notes: ImportNotes): AsyncGenerator<ImportedMessage> {
  for (const [index, message] of listOf(session.messages).entries()) {
    yield* partsOf({ id: `${index}`, ...objectOf(message) }, textOf(session.sessionId), notes);
  }
}

interface Outline {
  readonly head: Json;
  /** The places of the messages that stay, in order. */
  readonly places: readonly Place[];
  /** How many were taken back. */
  readonly taken: number;
}

/** A record that is a message, or has a list of them. */
interface Place {
  readonly line: number;
  readonly index?: number;
  /** How a prompt begins. */
  readonly prompt?: string;
}

async function outlineOf(file: FoundFile): Promise<Outline> {
  let head: Json = {};
  let taken = 0;
  let places = new Map<string, Place>();
  let order: string[] = [];
  let beforeLost = 0;
  let lineBefore = 0;
  let rewound: string | undefined;
  for await (const { value, line } of readRecords(file)) {
    if (line > lineBefore + 1) beforeLost = order.length;
    lineBefore = line;
    const set = changesIn(value);
    const rewindTo = nameOf(value.$rewindTo);
    const id = nameOf(value.id);
    // The same once more changes nothing.
    if (rewindTo !== undefined && rewindTo === rewound && !places.has(rewindTo)) continue;
    rewound = rewindTo;
    if (rewindTo !== undefined) {
      // A target that is not there takes all back, unless it was on a line that was lost.
      const stays = places.has(rewindTo) ? order.indexOf(rewindTo) : beforeLost;
      while (order.length > stays) {
        places.delete(order.pop() ?? "");
        taken += 1;
      }
    } else if (set) {
      const { messages, ...fields } = set;
      head = { ...head, ...fields };
      if (Array.isArray(messages)) {
        beforeLost = 0;
        const listed = listedPlaces(messages, line);
        const others = [...places].filter(([other]) => !listed.has(other));
        const isSummary = messages.some((message) => summaryIn(objectOf(message)) !== undefined);
        if (!isSummary) taken += others.length;
        places = new Map([...(isSummary ? others : []), ...listed]);
        order = [...places.keys()];
      }
    } else if (id !== undefined) {
      if (!places.has(id)) order.push(id);
      places.set(id, { line, ...promptOf(value) });
    } else if (isHead(value)) head = { ...head, ...value };
  }
  return { head, places: [...places.values()], taken };
}

/** A head may have the messages, too: a whole session of the old form in one line. */
function changesIn(value: Json): Json | undefined {
  if (isObject(value.$set)) return value.$set;
  return isHead(value) && Array.isArray(value.messages) ? value : undefined;
}

function listedPlaces(messages: readonly unknown[], line: number): Map<string, Place> {
  return new Map(
    messages.map((each, index) => {
      const message = objectOf(each);
      return [nameOf(message.id) ?? `${index}`, { line, index, ...promptOf(message) }];
    }),
  );
}

function promptOf(message: Json): Pick<Place, "prompt"> {
  return given({ prompt: message.type === "user" ? titleOf(typedText(message)) : undefined });
}

/** Reads the messages in their order. One that was replaced later waits for its last form. */
async function* writtenMessages(
  file: FoundFile,
  { head, places }: Outline,
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  const session = textOf(head.sessionId);
  const wanted = new Set(places.map(({ line }) => line));
  const read = new Map<number, Json>();
  let next = 0;
  const lastUse = new Map(places.map(({ line }, index) => [line, index]));
  for await (const { value, line } of readRecords(file, notes)) {
    countUnknown(value, notes);
    if (!wanted.has(line)) continue;
    read.set(line, value);
    for (let place = places[next]; place && read.has(place.line); place = places[next]) {
      const record = read.get(place.line);
      const message =
        place.index === undefined ? record : listOf(changesIn(record ?? {})?.messages)[place.index];
      // A message of a checkpoint may have no id.
      const named = { id: `${place.index}`, ...objectOf(message) };
      for (const part of partsOf(named, session, notes)) {
        yield { ...part, line: place.line };
      }
      if (lastUse.get(place.line) === next) read.delete(place.line);
      next += 1;
    }
  }
}

function countUnknown(value: Json, notes: ImportNotes): void {
  const isKnown = "$set" in value || "$rewindTo" in value || "sessionId" in value || "id" in value;
  if (!isKnown) notes.unknown(nameOf(value.type) ?? Object.keys(value)[0] ?? "?");
}

function* partsOf(record: Json, session: string, notes: ImportNotes): Generator<ImportedMessage> {
  const sourceId = `gemini:${session}:${textOf(record.id)}`;
  const time = timeOf(record.timestamp);
  switch (record.type) {
    case "user": {
      const text = typedText(record);
      const said = summaryIn(record);
      if (said !== undefined) yield summary(sourceId, said, { time });
      else if (text !== "") yield prompt(sourceId, text, { time });
      return;
    }
    case "gemini": {
      const text = shownText(record);
      const shown = ACKNOWLEDGED.test(text) ? "" : text;
      yield* answerParts(record, sourceId, shown, { time, group: sourceId });
      return;
    }
    // Notices of the program, such as a new version.
    case "info":
    case "error":
    case "warning":
      return;
    default:
      notes.unknown(nameOf(record.type) ?? "?");
  }
}

/** The typed text: the shown text without the parts that the program put before or after it. */
function typedText({ displayContent, content }: Json): string {
  const shown = contentText(displayContent) === "" ? content : displayContent;
  const parts = Array.isArray(shown) ? shown : [shown];
  const text = parts
    .map((part) => promptInGemini(contentText(part)))
    .filter(Boolean)
    .join("\n");
  return withoutFiles(text);
}

/** `<session_context>…</session_context>`. The notes of editors have no tag. */
const INJECTED = /<(session_context|hook_context|loaded_context|user_memory)>/g;
const EDITORS =
  /^Here is (?:the user's editor context|a summary of changes in the user's editor context)[^\n]*\n```json\n/;
const WHOLE = /^(?:This is the Gemini CLI\. We are setting up|System: Please continue\.)/;

/** The answer of older versions to their first injected text. No model gave it. */
const ACKNOWLEDGED = /^Got it\. Thanks for the (?:additional )?context!$/;

/** The text that replaces a compressed history. */
const SUMMARY = /^<state_snapshot>([\s\S]*)$/;

function summaryIn(record: Json): string | undefined {
  if (record.type !== "user") return undefined;
  const [, summary] = SUMMARY.exec(shownText(record).trim()) ?? [];
  return summary?.replace("</state_snapshot>", "").trim();
}

/** The typed part of a text, without injected text. */
export function promptInGemini(text: string): string {
  const rest = withoutEditors(withoutBlocks(text, INJECTED).trim());
  return WHOLE.test(rest) || SUMMARY.test(rest) ? "" : rest;
}

function withoutEditors(text: string): string {
  const end = EDITORS.test(text) ? text.indexOf("\n```", text.indexOf("```json") + 3) : -1;
  return end < 0 ? text : text.slice(end + "\n```".length).trim();
}

/** The text that the user saw: a prompt without the files that it names. */
function shownText({ displayContent, content }: Json): string {
  const isThought = (part: unknown) => objectOf(part).thought === true;
  const said = Array.isArray(content) ? content.filter((part) => !isThought(part)) : content;
  return withoutFiles(contentText(displayContent) || contentText(said));
}

function withoutFiles(text: string): string {
  const files = text.indexOf(FILES_MARK);
  return files < 0 ? text : text.slice(0, files).trim();
}

/** The files that a prompt names follow it in older versions. */
const FILES_MARK = "--- Content from referenced files ---";

function* answerParts(
  record: Json,
  sourceId: string,
  text: string,
  of: PartOf,
): Generator<ImportedMessage> {
  const thoughts = listOf(record.thoughts).map((thought) => {
    const { subject, description } = objectOf(thought);
    return [textOf(subject), textOf(description)].filter(Boolean).join(": ");
  });
  const thought = thoughts.filter(Boolean).join("\n");
  if (thought !== "") yield thinking(`${sourceId}:thoughts`, thought, of);
  if (text !== "") yield answer(sourceId, text, of);
  const calls = listOf(record.toolCalls).map(objectOf);
  const idOf = (one: Json, index: number) => nameOf(one.id) ?? `${sourceId}:${index}`;
  for (const [index, one] of calls.entries()) {
    const callId = idOf(one, index);
    const asked = { callId, name: textOf(one.name), args: one.args };
    yield call(`${sourceId}:call:${callId}`, asked, of);
  }
  for (const [index, one] of calls.entries()) {
    // A call that still runs has no result yet.
    if (!FINISHED.has(textOf(one.status)) && !Array.isArray(one.result)) continue;
    const callId = idOf(one, index);
    const done = { callId, text: resultText(one), isError: one.status !== "success" };
    yield result(`${sourceId}:result:${callId}`, done, of);
  }
}

const FINISHED = new Set(["success", "error", "cancelled"]);

/** `result: [{ functionResponse: { response: { output } } }]` */
function resultText({ result, resultDisplay }: Json): string {
  const texts = listOf(result).map((part) => {
    const { response } = objectOf(objectOf(part).functionResponse);
    if (!isObject(response)) return contentText([part]);
    const said = response.output ?? response.error ?? response.content;
    return typeof said === "string" ? said : jsonText(response);
  });
  return texts.filter(Boolean).join("\n") || textOf(resultDisplay);
}
