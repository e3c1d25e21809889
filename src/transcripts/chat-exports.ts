import { isObject } from "../core/fields.ts";
import type { Chunks } from "../text/read-lines.ts";
import { chatgptSession } from "./chatgpt-session.ts";
import { claudeAiSession } from "./claude-ai-session.ts";
import { bytesAt, type FoundFile } from "./found-file.ts";
import type { FileHead, ImportedSession, ImportFormat, ImportNotes } from "./imported.ts";
import { type Json, nameOf } from "./json-fields.ts";
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
