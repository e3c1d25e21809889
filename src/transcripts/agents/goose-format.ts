import { hash } from "node:crypto";
import { basename, join } from "node:path";
import { given, isObject } from "../../core/fields.ts";
import { jsonText } from "../../core/json-values.ts";
import type { FoundFile } from "../found-file.ts";
import type { ImportedMessage, ImportedSession, ImportFormat, ImportNotes } from "../imported.ts";
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
} from "../json-fields.ts";
import {
  answer,
  call,
  callerOf,
  importedSession,
  instruction,
  prompt,
  Repeats,
  result,
  thinking,
  wholeObject,
} from "../parts.ts";
import { isSqlite, type PlainTables, skipDamaged, withPlainTables } from "../plain-tables.ts";
import { readRecords } from "../read-records.ts";

/**
 * The sessions of Goose: the database `sessions.db`, before it a file of JSON Lines for each session, and what
 * `goose session export` writes. All three have the same messages, so they have the same ids.
 */
export const gooseFormat: ImportFormat = {
  agent: "goose",
  places: ({ env, home }) => [
    join(env.XDG_DATA_HOME || join(home, ".local", "share"), "goose", "sessions"),
    ...(env.APPDATA ? [join(env.APPDATA, "Block", "goose", "data", "sessions")] : []),
  ],
  mayBe: (path) => /(?:(?:^|\/)sessions\.db|\.jsonl?)$/.test(path),
  recognises: ({ path, head, first }) =>
    isDatabase(path)
      ? isSqlite(head)
      : first !== undefined && (isHead(first) || (path.endsWith(".jsonl") && isMessage(first))),
  async *read(file, notes) {
    if (isDatabase(file.path)) {
      yield* withPlainTables(file, notes, (tables) => storedSessions(tables, file, notes));
    } else if (file.path.endsWith(".json")) {
      const about = await wholeObject(file, notes);
      const messages = () => listOf(about?.conversation).map(objectOf);
      if (about) yield sessionOf(textOf(about.id), about, messages, notes);
    } else yield* lineSession(file, notes);
  },
};

function isHead(first: Json): boolean {
  const isOurs = "message_count" in first || "schedule_id" in first;
  return typeof first.working_dir === "string" && (Array.isArray(first.conversation) || isOurs);
}

/** The first that can be read of a file whose head is torn or lost. */
function isMessage({ role, created, content }: Json): boolean {
  const isSaid = role === "user" || role === "assistant";
  return isSaid && typeof created === "number" && listOf(content).some((part) => isObject(part));
}

function isDatabase(path: string): boolean {
  return path.endsWith("sessions.db");
}

const SESSION = "id name description working_dir session_type created_at updated_at".split(" ");

async function* storedSessions(
  tables: PlainTables,
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<ImportedSession> {
  if (!tables.has("sessions") || !tables.has("messages")) {
    notes.skip(file, undefined, "it is not a database of Goose");
    return;
  }
  const places = new Map<string, Json[]>();
  const columns = ["id", "session_id", "role", "created_timestamp", "metadata_json"];
  for await (const place of tables.rows("messages", columns)) {
    const id = String(place.session_id);
    const known = places.get(id);
    if (known) known.push(place);
    else places.set(id, [place]);
  }
  const contentOf = tables.dataOf("messages", "content_json");
  for await (const about of tables.rows("sessions", SESSION)) {
    const id = String(about.id);
    const messages = function* () {
      try {
        const ordered = (places.get(id) ?? []).sort((one, two) => Number(one.id) - Number(two.id));
        for (const place of ordered) {
          const content = parsedJson(textOf(contentOf(place.row)));
          const metadata = parsedJson(textOf(place.metadata_json));
          yield { ...place, created: place.created_timestamp, content, metadata };
        }
      } catch (error) {
        skipDamaged(error, file, notes);
      }
    };
    yield sessionOf(id, about, messages, notes);
  }
}

async function* lineSession(file: FoundFile, notes: ImportNotes): AsyncGenerator<ImportedSession> {
  let about: Json = {};
  let title: string | undefined;
  for await (const { value } of readRecords(file)) {
    if (!("role" in value)) about = value;
    else if (value.role === "user") title ??= titleOf(contentText(value.content));
    if (title !== undefined) break;
  }
  const messages = async function* () {
    for await (const { value, line } of readRecords(file, notes)) {
      if ("role" in value) yield { ...value, line };
      else if (line > 1) notes.unknown(textOf(value.type) || "?");
    }
  };
  const id = basename(file.path, ".jsonl");
  const named = { ...about, name: nameOf(about.name) ?? nameOf(about.description) ?? title };
  yield sessionOf(id, named, messages, notes);
}

function sessionOf(
  id: string,
  about: Json,
  messages: () => Iterable<Json> | AsyncIterable<Json>,
  notes: ImportNotes,
): ImportedSession {
  return importedSession("goose", id, messagesOf(id, messages(), notes), {
    // The session that called it is not said.
    parent: callerOf("goose", about.session_type === "sub_agent" ? "" : undefined),
    title: nameOf(about.name) ?? nameOf(about.description),
    project: nameOf(about.working_dir),
    startedAt: timeInUtc(about.created_at),
    updatedAt: timeInUtc(about.updated_at),
  });
}

/** SQLite's own times have no zone, and are in UTC: `2026-05-01 10:00:00`. */
function timeInUtc(value: unknown): string | undefined {
  const plain = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?$/.test(textOf(value));
  return timeOf(plain ? `${textOf(value).replace(" ", "T")}Z` : value);
}

async function* messagesOf(
  session: string,
  messages: Iterable<Json> | AsyncIterable<Json>,
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  const repeats = new Repeats();
  for await (const message of messages) {
    const { role, content, created, line } = message;
    // The numbers of rows change when a session is compacted.
    const said = `${textOf(role)}:${hash("sha256", jsonText(content ?? "")).slice(0, 24)}`;
    const id = `goose:${session}:${said}:${repeats.next(said)}`;
    const isShown = objectOf(message.metadata).userVisible !== false;
    const of = { time: timeOf(created), group: id, ...given({ line: line as number | undefined }) };
    for (const [index, part] of listOf(content).map(objectOf).entries()) {
      yield* partOf(`${id}:${index}`, part, { isUser: role === "user", isShown }, of, notes);
    }
  }
}

/** Parts of the program: questions for approval, and what it tells on the screen. */
const SILENT =
  /^(?:redactedThinking|toolConfirmationRequest|actionRequired|systemNotification|contextLengthExceeded|summarizationRequested|conversationCompacted)$/;

function* partOf(
  id: string,
  part: Json,
  { isUser, isShown }: { readonly isUser: boolean; readonly isShown: boolean },
  of: { readonly time?: string | undefined; readonly group: string },
  notes: ImportNotes,
): Generator<ImportedMessage> {
  switch (part.type) {
    case "text":
    case "image": {
      const text = contentText([part]);
      if (text.trim() === "") return;
      // A summary of a compaction, or what the program told the model.
      if (!isShown) yield instruction(id, text, of);
      else yield isUser ? prompt(id, text, of) : answer(id, text, of);
      return;
    }
    case "thinking":
      if (nameOf(part.thinking)) yield thinking(id, textOf(part.thinking), of);
      return;
    case "toolRequest":
    case "frontendToolRequest": {
      const { name, arguments: args } = objectOf(objectOf(part.toolCall).value);
      yield call(id, { callId: textOf(part.id), name: textOf(name), args }, of);
      return;
    }
    case "toolResponse": {
      const { status, value, error } = objectOf(part.toolResult);
      const output = isObject(value) ? value : { content: value };
      const isError = status === "error" || output.isError === true;
      const text =
        status === "error" ? textOf(error) || jsonText(error ?? "") : contentText(output.content);
      yield result(id, { callId: textOf(part.id), text, isError }, of);
      return;
    }
    default:
      if (!SILENT.test(textOf(part.type))) notes.unknown(`content.${textOf(part.type) || "?"}`);
  }
}
