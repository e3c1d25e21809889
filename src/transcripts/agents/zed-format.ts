import { basename, join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { isObject } from "../../core/fields.ts";
import { type FoundFile, unpackedMax } from "../found-file.ts";
import {
  type ImportedMessage,
  type ImportedSession,
  type ImportFormat,
  type ImportNotes,
  isLive,
} from "../imported.ts";
import {
  contentText,
  type Json,
  listOf,
  nameOf,
  objectOf,
  parsedJson,
  textOf,
  timeOf,
} from "../json-fields.ts";
import { answer, call, callerOf, importedSession, prompt, result, thinking } from "../parts.ts";
import { isSqlite, type PlainTables, withPlainTables } from "../plain-tables.ts";

/**
 * The threads of Zed's agent: rows of a database, each with a thread as JSON, which is packed.
 *
 *     { "User": { id, content: [{ "Text": … }] } }                          since version 0.3.0
 *     { "Agent": { content: [{ "ToolUse": … }], tool_results: { … } } }
 *     { id, role, segments: [{ type, text }], tool_uses, tool_results }     before
 *
 * Messages have no times.
 */
export const zedFormat: ImportFormat = {
  agent: "zed",
  places: ({ env, home }) => [
    join(env.XDG_DATA_HOME || join(home, ".local", "share"), "zed", "threads"),
    join(home, "Library", "Application Support", "Zed", "threads"),
    ...(env.LOCALAPPDATA ? [join(env.LOCALAPPDATA, "Zed", "threads")] : []),
  ],
  mayBe: (path) => isDatabase(path),
  recognises: ({ path, head }) => isDatabase(path) && isSqlite(head),
  read: (file, notes) => withPlainTables(file, notes, (tables) => threads(tables, file, notes)),
};

function isDatabase(path: string): boolean {
  return basename(path) === "threads.db";
}

const ABOUT = "id parent_id folder_paths summary updated_at created_at data_type".split(" ");

async function* threads(
  tables: PlainTables,
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<ImportedSession> {
  if (!tables.has("threads")) return notes.skip(file, undefined, "it is not a database of Zed");
  const dataOf = tables.dataOf("threads", "data");
  const rows = await Array.fromAsync(tables.rows("threads", ABOUT));
  for (const row of rows) {
    const id = textOf(row.id);
    const thread = objectOf(parsedJson(textIn(dataOf(row.row), row.data_type === "zstd")));
    if (!Array.isArray(thread.messages)) {
      notes.skip(file, undefined, "a thread is damaged, or larger than 64 MB");
      continue;
    }
    const isLastOpen = () => isLive(file, row.updated_at, notes);
    yield importedSession("zed", id, messagesOf(id, thread.messages, isLastOpen, notes), {
      parent: callerOf("zed", nameOf(row.parent_id)),
      title: nameOf(row.summary),
      project: textOf(row.folder_paths).split("\n").find(Boolean),
      model: nameOf(objectOf(thread.model).model),
      startedAt: timeOf(row.created_at),
      updatedAt: timeOf(row.updated_at),
    });
  }
}

/** The text of a value, packed or not. Empty where it is damaged. */
function textIn(data: unknown, isPacked: boolean): string {
  if (!(data instanceof Uint8Array)) return textOf(data);
  try {
    const maxOutputLength = unpackedMax(data.length);
    return Buffer.from(isPacked ? zstdDecompressSync(data, { maxOutputLength }) : data).toString();
  } catch {
    return "";
  }
}

async function* messagesOf(
  thread: string,
  messages: readonly unknown[],
  isLastOpen: () => boolean,
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  // An answer has no id: it is known by its place behind the prompt.
  let place = `zed:${thread}:`;
  for (const [index, message] of messages.entries()) {
    const { User: user, Agent: agent, role } = objectOf(message);
    if (isObject(user)) {
      place = `zed:${thread}:${textOf(user.id) || index}`;
      const text = typedIn(listOf(user.content));
      if (text !== "") yield prompt(place, text, {});
      continue;
    }
    const isAnswer = isObject(agent) || role === "assistant";
    if (isAnswer && index === messages.length - 1 && isLastOpen()) return;
    place += "+";
    if (isObject(agent)) yield* answerParts(place, agent, notes);
    else if (role !== undefined) yield* earlierParts(thread, objectOf(message), notes);
    // `Resume` is what the program says when a thread goes on.
    else if (message !== "Resume") notes.unknown(Object.keys(objectOf(message))[0] ?? "message");
  }
}

/** The typed words. What a mention stands for is not among them, but its name. */
function typedIn(content: readonly unknown[]): string {
  const texts = content.map(objectOf).map(({ Text: text, Mention: mention, Image: image }) => {
    if (isObject(mention)) return mentioned(mention.uri);
    return image === undefined ? textOf(text) : "[image]";
  });
  return texts.join("").trim();
}

/** `{ "File": { "abs_path": "/home/ada/paint.ts" } }` */
function mentioned(uri: unknown): string {
  const [kind = "mention", about] = Object.entries(objectOf(uri))[0] ?? [];
  const { name, path, abs_path, title, url } = objectOf(about);
  const found = [name, title, url, abs_path ?? path].map(nameOf).find(Boolean);
  return `[@${found === undefined ? kind : found.replace(/^.*[/\\]/, "")}]`;
}

function* answerParts(id: string, agent: Json, notes: ImportNotes): Generator<ImportedMessage> {
  const of = { group: id };
  for (const [index, part] of listOf(agent.content).map(objectOf).entries()) {
    const { Text: text, Thinking: thought, ToolUse: use } = part;
    const place = `${id}:${index}`;
    const { id: callId, name, input } = objectOf(use);
    if (nameOf(text)) yield answer(place, textOf(text), of);
    else if (nameOf(objectOf(thought).text))
      yield thinking(place, textOf(objectOf(thought).text), of);
    else if (isObject(use)) {
      yield call(place, { callId: textOf(callId), name: textOf(name), args: input }, of);
    } else if (!/^(?:Text|Thinking|RedactedThinking)$/.test(Object.keys(part)[0] ?? "Text")) {
      notes.unknown(`content.${Object.keys(part)[0]}`);
    }
  }
  yield* resultsOf(id, Object.values(objectOf(agent.tool_results)));
}

function* resultsOf(id: string, results: readonly unknown[]): Generator<ImportedMessage> {
  for (const { tool_use_id, is_error, content } of results.map(objectOf)) {
    const callId = textOf(tool_use_id);
    const parts = Array.isArray(content) ? content : [content];
    const texts = parts.map((part) => textOf(objectOf(part).Text) || contentText([part]));
    const done = { callId, text: texts.filter(Boolean).join("\n"), isError: is_error === true };
    yield result(`${id}:result:${callId}`, done, { group: id });
  }
}

/** A message before version 0.3.0. In the first version results came as a message of the user. */
function* earlierParts(
  thread: string,
  message: Json,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  const { role, segments, text, tool_uses, tool_results, is_hidden } = message;
  const id = `zed:${thread}:${String(message.id)}`;
  const said = Array.isArray(segments) ? segments.map(objectOf) : [{ type: "text", text }];
  const shown = said.flatMap((part) => (part.type === "text" ? [textOf(part.text)] : [])).join("");
  const results = listOf(tool_results);
  if (role === "user" && results.length === 0) {
    if (shown.trim() !== "" && is_hidden !== true) yield prompt(id, shown.trim(), {});
  } else if (role === "assistant") {
    const thought = said.flatMap((part) => (part.type === "thinking" ? [textOf(part.text)] : []));
    if (thought.join("") !== "") yield thinking(`${id}:thinking`, thought.join(""), { group: id });
    if (shown.trim() !== "") yield answer(id, shown, { group: id });
    for (const use of listOf(tool_uses).map(objectOf)) {
      const asked = { callId: textOf(use.id), name: textOf(use.name), args: use.input };
      yield call(`${id}:call:${asked.callId}`, asked, { group: id });
    }
  } else if (role !== "user" && role !== "system") notes.unknown(`role.${textOf(role) || "?"}`);
  yield* resultsOf(id, results);
}
