import { hash } from "node:crypto";
import { basename } from "node:path";
import { errorText } from "../core/errors.ts";
import { given } from "../core/fields.ts";
import type { FoundFile } from "./found-file.ts";
import type {
  FileHead,
  ImportedMessage,
  ImportedSession,
  ImportFormat,
  ImportNotes,
} from "./imported.ts";
import {
  contentText,
  type Json,
  listOf,
  nameOf,
  objectOf,
  timeOf,
  titleOf,
} from "./json-fields.ts";
import { firstJsonObject } from "./json-values.ts";
import { isAgentItem, isUiMessage, partsOfMessage } from "./message-parts.ts";
import { type FileObject, readObjects } from "./read-objects.ts";

/**
 * Messages as libraries have them: a list of them, one a line, or an object with a list `messages` for each
 * conversation. The formats differ by their messages.
 */
export const aiSdkFormat = chatFiles("ai-sdk", isUiMessage, /"parts"\s*:\s*\[/);

export const openaiAgentsFormat = chatFiles(
  "openai-agents",
  isAgentItem,
  /"type"\s*:\s*"(?:function_call|hosted_tool_call)/,
);

/** Messages of OpenAI's or Anthropic's chat: `{ role, content }`. */
export const chatFileFormat = chatFiles("chat", isChatMessage, /"role"\s*:/);

function isChatMessage(value: Json): boolean {
  // A transcript of Claude Code or Cursor has its message inside.
  const hasContent = "content" in value || "tool_calls" in value;
  return (
    typeof value.role === "string" && hasContent && !("message" in value) && !isAgentItem(value)
  );
}

type Agent = "ai-sdk" | "openai-agents" | "chat";

/** A first message that is larger than the head is recognised by `mark`. */
function chatFiles(agent: Agent, isMessage: (value: Json) => boolean, mark: RegExp): ImportFormat {
  return {
    agent,
    // These files are where their program put them.
    places: () => [],
    mayBe: (path) => /\.jsonl?$/.test(path),
    recognises: ({ first: whole, head }: FileHead) => {
      const text = new TextDecoder().decode(head);
      const first = whole ?? firstJsonObject(head);
      if (!first) return /^\s*[[{]/.test(text) && /"role"\s*:/.test(text) && mark.test(text);
      const message = Array.isArray(first.messages) ? objectOf(first.messages[0]) : first;
      return isMessage(message) || (agent !== "chat" && isChatMessage(message) && mark.test(text));
    },
    read: (file, notes) => readChats(agent, file, notes),
  };
}

async function* readChats(
  agent: Agent,
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<ImportedSession> {
  const outline = await outlineOf(file);
  if (!outline) {
    // Reading it tells what is wrong with it.
    for await (const _ of readObjects(file, notes));
    return;
  }
  // The files have no ids of their own. The same path is the same conversation.
  const inFile = `${basename(file.path).replace(/\.[^.]*$/, "")}-${hash("sha1", file.path).slice(0, 8)}`;
  if (!outline.hasConversations) {
    const messages = messagesOf(agent, inFile, readObjects(file, notes), file, notes);
    yield { ...sessionOf(agent, inFile, outline), messages };
    return;
  }
  for await (const { value, line } of readObjects(file, notes)) {
    const id = nameOf(value.id) ?? nameOf(value.chatId) ?? `${inFile}-${line}`;
    const listed = listOf(value.messages).map((message) => ({ value: objectOf(message), line }));
    const messages = messagesOf(agent, id, listed, file, notes);
    yield { ...sessionOf(agent, id, outlineOfChat(value)), messages };
  }
}

interface Outline {
  readonly hasConversations: boolean;
  readonly title?: string | undefined;
  readonly startedAt?: string | undefined;
}

function sessionOf(
  agent: Agent,
  nativeId: string,
  { title, startedAt }: Outline,
): Omit<ImportedSession, "messages"> {
  return { id: `${agent}:${nativeId}`, agent, nativeId, ...given({ title, startedAt }) };
}

function outlineOfChat(chat: Json): Outline {
  const first = listOf(chat.messages)
    .map(objectOf)
    .find(({ role }) => role === "user");
  return {
    hasConversations: true,
    title: nameOf(chat.title) ?? (first && titleOf(contentText(first.parts ?? first.content))),
    startedAt: timeIn(chat) ?? (first && timeIn(first)),
  };
}

/** What the first prompt says of the file; nothing for a file without objects. */
async function outlineOf(file: FoundFile): Promise<Outline | undefined> {
  let found: Outline | undefined;
  let startedAt: string | undefined;
  for await (const { value } of readObjects(file)) {
    if (Array.isArray(value.messages) && value.role === undefined) {
      return { hasConversations: true };
    }
    startedAt ??= timeIn(value);
    found = { hasConversations: false, startedAt };
    if (value.role !== "user") continue;
    return { ...found, title: titleOf(contentText(value.parts ?? value.content)) };
  }
  return found;
}

function timeIn(value: Json): string | undefined {
  const { createdAt, created_at, timestamp, time, metadata } = value;
  const own = [time, createdAt, created_at, timestamp, objectOf(metadata).createdAt];
  return own.map(timeOf).find((one) => one !== undefined);
}

async function* messagesOf(
  agent: Agent,
  session: string,
  objects: AsyncIterable<FileObject> | Iterable<FileObject>,
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  const ids = new MessageIds();
  let number = 0;
  for await (const { value, line } of objects) {
    number += 1;
    try {
      const parts = partsOfMessage(value, (type) => notes.unknown(type));
      const id = `${agent}:${session}:${ids.of(nameOf(value.id) ?? String(number), value)}`;
      for (const [index, { message, origin, memory }] of parts.entries()) {
        const author = message.role === "user" ? ("user" as const) : undefined;
        const isPart = message.role === "block_assistant" || message.role === "tool_results";
        yield {
          sourceId: index === 0 ? id : `${id}:${index}`,
          ...(isPart ? { group: id } : {}),
          message,
          origin: { ...given({ author, time: timeIn(value) }), ...origin },
          ...given({ memory }),
          line,
        };
      }
    } catch (error) {
      notes.skip(file, line, errorText(error));
    }
  }
}

/** Some programs give several messages the same id. A copy of a message keeps its id; another message gets its own. */
class MessageIds {
  readonly #hashes = new Map<string, string[]>();

  of(id: string, value: Json): string {
    const hashes = this.#hashes.get(id) ?? [];
    this.#hashes.set(id, hashes);
    const own = hash("sha1", JSON.stringify(value));
    const known = hashes.indexOf(own);
    const at = known < 0 ? hashes.push(own) - 1 : known;
    return at === 0 ? id : `${id}#${at + 1}`;
  }
}
