import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isObject } from "../../core/fields.ts";
import type { FoundFile } from "../found-file.ts";
import { type ImportedMessage, type ImportFormat, type ImportNotes, isLive } from "../imported.ts";
import {
  contentText,
  type Json,
  listOf,
  nameOf,
  objectOf,
  textOf,
  timeOf,
  titleOf,
} from "../json-fields.ts";
import {
  call,
  importedSession,
  prompt,
  Repeats,
  result,
  summary,
  thinking,
  thoughtAndSaid,
  wholeObject,
} from "../parts.ts";
import { readListedObjects } from "../read-objects.ts";
import { textId } from "./cline-api-parts.ts";

/**
 * The sessions of Continue, of its extensions and its command line: an object each, which is written anew as it grows.
 *
 *     { sessionId, title, workspaceDirectory, history: [{ message, toolCallStates, … }] }
 *
 * `sessions.json` beside them has the time at which each began. Messages have no times.
 */
export const continueFormat: ImportFormat = {
  agent: "continue",
  places: ({ env, home }) => [join(env.CONTINUE_GLOBAL_DIR || join(home, ".continue"), "sessions")],
  mayBe: (path) => path.endsWith(".json"),
  recognises: ({ listed, head }) => {
    if (listed) return isSession(listed) || ("sessionId" in listed && "dateCreated" in listed);
    return /^\s*\{[^[]*"workspaceDirectory"\s*:[^[]*"history"\s*:\s*\[/.test(latin1.decode(head));
  },
  async *read(file, notes) {
    if (isList(file)) return;
    const session = await wholeObject(file, notes);
    if (!session) return;
    const id = nameOf(session.sessionId) ?? basename(file.path, ".json");
    const history = listOf(session.history).map(objectOf);
    const first = history.find(({ message }) => objectOf(message).role === "user");
    const title = nameOf(session.title);
    yield importedSession("continue", id, messagesOf(id, history, file, notes), {
      title: title && !UNTITLED.test(title) ? title : titleOf(saidIn(first)),
      project: folderOf(textOf(session.workspaceDirectory)),
      model: nameOf(session.chatModelTitle),
      startedAt: await beganAt(id, file, notes),
    });
  },
};

const latin1 = new TextDecoder("latin1");
const UNTITLED = /^(?:New|Untitled) Session$/;

function isSession({ history, workspaceDirectory }: Json): boolean {
  return typeof workspaceDirectory === "string" && Array.isArray(history);
}

function isList({ path }: FoundFile): boolean {
  return basename(path) === "sessions.json";
}

/** The extensions write an address, the command line a path. */
function folderOf(folder: string): string | undefined {
  try {
    return nameOf(folder.startsWith("file:") ? fileURLToPath(folder) : folder);
  } catch {
    return folder;
  }
}

async function beganAt(id: string, file: FoundFile, notes: ImportNotes) {
  const isBeside = (other: FoundFile) =>
    isList(other) && dirname(other.path) === dirname(file.path);
  const list = [...file.others()].find(isBeside);
  if (!list) return undefined;
  for await (const { value } of readListedObjects(list.read(), list, notes)) {
    if (value.sessionId === id) return timeOf(Number(value.dateCreated));
  }
  return undefined;
}

function saidIn(item: Json | undefined): string {
  return contentText(objectOf(item?.message).content).trim();
}

async function* messagesOf(
  native: string,
  history: readonly Json[],
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  const session = `continue:${native}`;
  const repeats = new Repeats();
  const answered = new Set<string>();
  for (const [index, item] of history.entries()) {
    const message = objectOf(item.message);
    const text = saidIn(item);
    const id = (kind: string, said: string) => textId(session, kind, said, repeats);
    const isLast = index === history.length - 1;
    // The end of an answer is still being written.
    const isAnswer = message.role === "assistant" || message.role === "thinking";
    if (isLast && isAnswer && isLive(file, file.mtimeMs, notes)) return;
    switch (message.role) {
      case "user":
        if (text !== "") yield prompt(id("user", text), text, {});
        break;
      case "assistant": {
        const group = `${session}:${index}`;
        const thought = textOf(objectOf(item.reasoning).text).trim();
        if (thought !== "") yield thinking(id("thinking", thought), thought, { group });
        if (text !== "") yield* thoughtAndSaid(id("answer", text), text, { group });
        yield* callsOf(session, item, answered, group);
        break;
      }
      case "thinking":
        if (text !== "")
          yield thinking(id("thinking", text), text, { group: `${session}:${index}` });
        break;
      case "tool": {
        const callId = textOf(message.toolCallId);
        if (answered.has(callId)) break;
        answered.add(callId);
        yield result(`${session}:result:${callId}`, { callId, text }, {});
        break;
      }
      // The program's words for the model.
      case "system":
        break;
      default:
        notes.unknown(`role.${textOf(message.role) || "?"}`);
    }
    const shortened = textOf(item.conversationSummary);
    if (shortened !== "") yield summary(id("summary", shortened), shortened, {});
  }
}

/** The calls of an answer, and the results that newer versions keep beside them. */
function* callsOf(
  session: string,
  { message, toolCallStates, toolCallState }: Json,
  answered: Set<string>,
  group: string,
): Generator<ImportedMessage> {
  const asked = listOf(objectOf(message).toolCalls).map(objectOf);
  for (const { id, function: called } of asked) {
    const { name, arguments: args } = objectOf(called);
    const callId = textOf(id);
    yield call(`${session}:call:${callId}`, { callId, name: textOf(name), args }, { group });
  }
  const states = [...listOf(toolCallStates), toolCallState].filter(isObject);
  for (const { toolCallId, status, output } of states) {
    const callId = textOf(toolCallId);
    const isError = status === "errored" || status === "canceled";
    if (!Array.isArray(output) && !isError) continue;
    const texts = listOf(output).map((one) => textOf(objectOf(one).content));
    const text = texts.filter(Boolean).join("\n") || (isError ? `The call was ${status}.` : "");
    answered.add(callId);
    yield result(`${session}:result:${callId}`, { callId, text, isError }, { group });
  }
}
