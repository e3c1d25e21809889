import { hash } from "node:crypto";
import { errorText } from "../core/errors.ts";
import { given } from "../core/fields.ts";
import { jsonText } from "../core/json-values.ts";
import { kindOf } from "./agents/cline-format.ts";
import { isAgentItem, isUiMessage, partsOfMessage } from "./chat-message-parts.ts";
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
    recognises: ({ listed: first, head, path }: FileHead) => {
      if (kindOf({ path, listed: first, head }) !== undefined) return false;
      const text = new TextDecoder().decode(head);
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
    // Reading the file reports its fault.
    for await (const _ of readObjects(file, notes));
    return;
  }
  if (!outline.hasConversations) {
    const messages = messagesOf(agent, outline.id, readObjects(file, notes), file, notes);
    yield { ...sessionOf(agent, outline), messages };
    return;
  }
  const known = new Map<string, number>();
  for await (const { value, line } of readObjects(file, notes)) {
    const found = outlineOfChat(value);
    const times = known.get(found.id) ?? 0;
    known.set(found.id, times + 1);
    // Two conversations may begin with the same words.
    const chat = { ...found, id: times === 0 ? found.id : `${found.id}-${times + 1}` };
    const listed = listOf(value.messages).map((message) => ({ value: objectOf(message), line }));
    yield { ...sessionOf(agent, chat), messages: messagesOf(agent, chat.id, listed, file, notes) };
  }
}

interface Outline {
  readonly id: string;
  readonly hasConversations: boolean;
  readonly title?: string | undefined;
  readonly startedAt?: string | undefined;
}

function sessionOf(
  agent: Agent,
  { id, title, startedAt }: Outline,
): Omit<ImportedSession, "messages"> {
  return { id: `${agent}:${id}`, agent, nativeId: id, ...given({ title, startedAt }) };
}

function outlineOfChat(chat: Json): Outline {
  const opening = new Opening();
  for (const message of listOf(chat.messages)) if (opening.add(objectOf(message))) break;
  return {
    hasConversations: true,
    id: nameOf(chat.id) ?? nameOf(chat.chatId) ?? opening.id,
    title: nameOf(chat.title) ?? opening.title,
    startedAt: timeIn(chat) ?? opening.startedAt,
  };
}

/** The opening of a file. Undefined for a file without a prompt or an answer. */
async function outlineOf(file: FoundFile): Promise<Outline | undefined> {
  const opening = new Opening();
  for await (const { value } of readObjects(file)) {
    if (Array.isArray(value.messages) && value.role === undefined) {
      return { hasConversations: true, id: "" };
    }
    if (!opening.add(value)) continue;
    const { id, title, startedAt } = opening;
    return { hasConversations: false, id, title, startedAt };
  }
  return undefined;
}

/**
 * A conversation up to its first prompt. Without an id of its own, a conversation is known by this, so that it is the
 * same in a file with another name, and when it has grown.
 */
class Opening {
  title: string | undefined;
  startedAt: string | undefined;
  id = "";

  /** Takes the next message. Returns whether it is the prompt. */
  add(value: Json): boolean {
    const time = timeIn(value);
    this.startedAt ??= time;
    const { id, role, type, name, parts, content, arguments: args } = value;
    const said = [this.id, id, time, role, type, name, parts ?? content, args];
    this.id = hash("sha1", jsonText(said)).slice(0, 20);
    if (role === "user") this.title ??= titleOf(contentText(parts ?? content));
    return role !== "system" && role !== "developer";
  }
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
  /** The digest of all messages so far, which identifies a message without an id. */
  let content = "";
  for await (const { value, line } of objects) {
    try {
      const parts = partsOfMessage(value, (type) => notes.unknown(type));
      const messages = parts.map(({ message }) => message);
      content = hash("sha1", content + jsonText(messages)).slice(0, 20);
      const own = nameOf(value.id);
      const id = `${agent}:${session}:${own === undefined ? content : ids.of(own, value)}`;
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
    const own = hash("sha1", jsonText(value));
    const known = hashes.indexOf(own);
    const at = known < 0 ? hashes.push(own) - 1 : known;
    return at === 0 ? id : `${id}#${at + 1}`;
  }
}
