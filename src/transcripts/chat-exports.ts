import { isObject } from "../core/fields.ts";
import type { Chunks } from "../text/read-lines.ts";
import { chatgptSession } from "./chatgpt-session.ts";
import { bytesAt, type FoundFile } from "./found-file.ts";
import {
  branchTo,
  type FileHead,
  type ImportedMessage,
  type ImportedSession,
  type ImportFormat,
  type ImportNotes,
} from "./imported.ts";
import {
  contentText,
  type Json,
  listOf,
  nameOf,
  objectOf,
  textOf,
  timeOf,
  titleOf,
} from "./json-fields.ts";
import { answer, call, importedSession, prompt, result, thinking } from "./parts.ts";
import { readListedObjects } from "./read-objects.ts";
import { listZip, readZipEntry } from "./zip.ts";

/**
 * The exports of all data from ChatGPT and Claude.ai: a list of conversations, alone or in a ZIP archive.
 * Both archives have it as `conversations.json`, large accounts of ChatGPT as `conversations-000.json` and so on.
 */
export const chatgptFormat: ImportFormat = {
  ...exportsOf("chatgpt"),
  recognises: (found) => isZip(found) || startsLike(found, '"mapping"'),
};

export const claudeAiFormat: ImportFormat = {
  ...exportsOf("claude-ai"),
  // The two archives differ only inside, so the reader of ChatGPT's takes both.
  recognises: (found) => startsLike(found, '"chat_messages"'),
};

function exportsOf(agent: ImportFormat["agent"]): Omit<ImportFormat, "recognises"> {
  return {
    agent,
    // An export is where its user saved it.
    places: () => [],
    mayBe: (path) => CONVERSATIONS.test(path) || /\.zip$/i.test(path),
    read: readExport,
  };
}

const CONVERSATIONS = /(?:^|\/)conversations(?:-\d+)?\.json$/;

const ZIP_MARK = "PK\x03\x04";

function isZip({ head }: Pick<FileHead, "head">): boolean {
  return Buffer.from(head.subarray(0, ZIP_MARK.length)).toString("latin1") === ZIP_MARK;
}

function startsLike({ head }: FileHead, field: string): boolean {
  const text = new TextDecoder().decode(head);
  return /^\s*[[{]/.test(text) && text.includes(field);
}

async function* readExport(file: FoundFile, notes: ImportNotes): AsyncGenerator<ImportedSession> {
  try {
    if (!isZip({ head: await bytesAt(file, 0, ZIP_MARK.length) })) {
      yield* conversationsIn(file.read(), file, notes);
      return;
    }
    const entries = (await listZip(file)).filter(({ path }) => CONVERSATIONS.test(path));
    if (entries.length === 0) {
      notes.skip(file, undefined, "the archive has no conversations.json");
    }
    for (const entry of entries) yield* conversationsIn(readZipEntry(file, entry), file, notes);
  } catch (error) {
    // A damaged archive is reported. A file that cannot be read at all is left to the caller.
    if (!(error instanceof Error) || "syscall" in error) throw error;
    notes.skip(file, undefined, error.message);
  }
}

async function* conversationsIn(
  chunks: Chunks,
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<ImportedSession> {
  for await (const { value, line } of readListedObjects(chunks, file, notes)) {
    const session = sessionOf(value, notes);
    if (session) yield session;
    else notes.skip(file, line, isEmpty(value) ? EMPTY : UNKNOWN);
  }
}

const EMPTY = "the conversation has no messages";
const UNKNOWN = "it is not a conversation of ChatGPT or Claude.ai";

/** A conversation of ChatGPT that was never held has no `mapping`. */
function isEmpty({ title, name, create_time, created_at, mapping, chat_messages }: Json): boolean {
  const hasHead = nameOf(title ?? name) !== undefined && (create_time ?? created_at) !== undefined;
  return hasHead && (mapping ?? chat_messages ?? undefined) === undefined;
}

function sessionOf(conversation: Json, notes: ImportNotes): ImportedSession | undefined {
  if (Array.isArray(conversation.chat_messages)) return claudeAiSession(conversation, notes);
  if (isObject(conversation.mapping)) return chatgptSession(conversation, notes);
  return undefined;
}

/**
 * A conversation of a Claude.ai export. Where its messages name their parents, edits made branches, and the last
 * message is on the one that the user saw. Older exports have the messages in order.
 */
function claudeAiSession(conversation: Json, notes: ImportNotes): ImportedSession | undefined {
  const id = nameOf(conversation.uuid);
  if (id === undefined) return undefined;
  const all = listOf(conversation.chat_messages).filter(isObject);
  const shown = branchOf(all);
  notes.otherBranch(all.length - shown.length);
  const first = shown.find(({ sender }) => sender === "human");
  return importedSession("claude-ai", id, messagesOf(id, shown, notes), {
    title: nameOf(conversation.name) ?? titleOf(saidIn(first ?? {})),
    model: nameOf(conversation.model),
    startedAt: timeOf(conversation.created_at),
    updatedAt: timeOf(conversation.updated_at),
  });
}

function branchOf(all: readonly Json[]): readonly Json[] {
  const last = all.at(-1);
  if (!last || !all.some(({ parent_message_uuid }) => nameOf(parent_message_uuid))) return all;
  const byId = new Map(all.map((message) => [message.uuid, message]));
  return branchTo(last, ({ parent_message_uuid }) => byId.get(parent_message_uuid));
}

async function* messagesOf(
  session: string,
  shown: readonly Json[],
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  for (const [index, record] of shown.entries()) {
    const id = `claude-ai:${session}:${nameOf(record.uuid) ?? index}`;
    const time = timeOf(record.created_at);
    if (record.sender === "human") yield* userMessages(record, id, time);
    else if (record.sender === "assistant") yield* answerParts(record, id, time, notes);
    else notes.unknown(`sender ${textOf(record.sender) || "?"}`);
  }
}

/**
 * A prompt, and then the texts of its attachments as results of calls: they are the text of a file, not what a person
 * typed, and no turn of their own.
 */
function* userMessages(
  record: Json,
  sourceId: string,
  time: string | undefined,
): Generator<ImportedMessage> {
  const attachments = listOf(record.attachments).map(objectOf);
  const unread = attachments.filter(({ extracted_content }) => textOf(extracted_content) === "");
  const files = [...listOf(record.files).map(objectOf), ...unread].filter((file) => file.file_name);
  // A prompt may have no text except its attachments.
  const content =
    [saidIn(record), ...files.map(placeholder)].filter(Boolean).join("\n") ||
    attachments.map(placeholder).join("\n");
  if (content === "") return;
  yield prompt(sourceId, content, { time });
  const read = attachments.flatMap(({ file_name, extracted_content }, index) => {
    const text = textOf(extracted_content);
    const file = nameOf(file_name) ?? ATTACHMENT;
    return text === "" ? [] : [{ id: `${sourceId}:file-${index}`, file, text }];
  });
  const group = `${sourceId}:files`;
  for (const { id, file } of read) {
    const asked = { callId: id, name: "read_attachment", args: { file } };
    yield call(`${id}:call`, asked, { time, group, author: "program" });
  }
  for (const { id, text } of read) {
    yield result(id, { callId: id, text }, { time, group, author: "file" });
  }
}

const ATTACHMENT = "attachment";

function placeholder({ file_name }: Json): string {
  return `[file: ${nameOf(file_name) ?? ATTACHMENT}]`;
}

/** Some exports have an empty `content`, and the text beside it. */
function saidIn({ content, text }: Json): string {
  const blocks = listOf(content).filter((block) => objectOf(block).type === "text");
  return contentText(blocks) || textOf(text);
}

function* answerParts(
  record: Json,
  id: string,
  time: string | undefined,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  const of = { time, group: id };
  const blocks = listOf(record.content).map(objectOf);
  if (!blocks.some(({ type, text }) => type === "text" && text !== "")) {
    if (nameOf(record.text)) yield answer(id, textOf(record.text), of);
  }
  /** Calls without a result yet. Most have no id. */
  const open: { readonly callId: string; readonly name: string }[] = [];
  for (const [index, block] of blocks.entries()) {
    const place = `${id}:${index}`;
    const name = nameOf(block.name) ?? "tool";
    switch (block.type) {
      case "text":
        if (nameOf(block.text)) yield answer(place, textOf(block.text), of);
        break;
      case "thinking":
        if (nameOf(block.thinking)) yield thinking(place, textOf(block.thinking), of);
        break;
      case "tool_use": {
        const asked = { callId: nameOf(block.id) ?? place, name };
        open.push(asked);
        yield call(place, { ...asked, args: block.input }, of);
        break;
      }
      case "tool_result": {
        const wanted = nameOf(block.tool_use_id);
        const asked =
          open.find(({ callId }) => callId === wanted) ?? open.find((one) => one.name === name);
        if (asked) open.splice(open.indexOf(asked), 1);
        else yield call(`${place}:call`, { callId: place, name, args: {} }, of);
        const text = contentText(block.content);
        const { callId } = asked ?? { callId: place };
        yield result(place, { callId, text, isError: block.is_error === true }, of);
        break;
      }
      case "voice_note":
      case "token_budget":
        break;
      default:
        notes.unknown(`content ${textOf(block.type) || "?"}`);
    }
  }
}
