import { hash } from "node:crypto";
import { basename, join } from "node:path";
import { given } from "../core/fields.ts";
import { isSummary, type Message, summaryMessage } from "../core/message.ts";
import { branchTo } from "./branch.ts";
import type { FoundFile } from "./found-file.ts";
import type { ImportedMessage, ImportFormat, ImportNotes } from "./imported.ts";
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
import { answerText, answerThinking, toolCall, toolResult } from "./one-block-messages.ts";
import { noteNoSession, readRecords } from "./read-records.ts";

/**
 * The sessions of pi, a tree in a file: each entry names its parent, and the last one is where the user is.
 *
 *     session                   the head
 *     message, compaction, …    { id, parentId }
 *
 * The first version has no ids, and is one branch.
 */
export const piFormat: ImportFormat = {
  agent: "pi",
  places: ({ home }) => [join(home, ".pi", "agent", "sessions")],
  mayBe: (path) => path.endsWith(".jsonl"),
  recognises: ({ first }) =>
    first !== undefined &&
    ((first.type === "session" && typeof first.id === "string" && "cwd" in first) ||
      (first.type === "title" && !("message" in first))),
  async *read(file, notes) {
    const outline = await outlineOf(file);
    if (!outline) return await noteNoSession(file, notes);
    const { head, ...about } = outline;
    const id = nameOf(head.id) ?? "";
    const parent = parentOf(head);
    yield {
      id: `pi:${id}`,
      agent: "pi",
      nativeId: id,
      ...given({
        parent:
          parent === undefined ? undefined : { id: `pi:${parent}`, relation: "fork" as const },
        title: about.title,
        project: nameOf(head.cwd),
        model: about.model,
        startedAt: timeOf(head.timestamp),
        updatedAt: about.updatedAt,
      }),
      messages: messagesOf(file, about.branch, notes),
    };
  },
};

interface Outline {
  readonly head: Json;
  /** The entries of the branch; all, if they have no ids. */
  readonly branch: ReadonlySet<string> | undefined;
  readonly title: string | undefined;
  readonly model: string | undefined;
  readonly updatedAt: string | undefined;
}

async function outlineOf(file: FoundFile): Promise<Outline | undefined> {
  let head: Json | undefined;
  let leaf: string | undefined;
  let title: string | undefined;
  let prompt: string | undefined;
  let model: string | undefined;
  let updatedAt: string | undefined;
  const parents = new Map<string, string | undefined>();
  for await (const { value } of readRecords(file)) {
    if (value.type === "session") {
      head ??= value;
      continue;
    }
    updatedAt = timeOf(value.timestamp) ?? updatedAt;
    if (value.type === "session_info") title = nameOf(value.name) ?? title;
    if (value.type === "model_change") model = nameOf(value.modelId) ?? model;
    else model = nameOf(objectOf(value.message).model) ?? model;
    const { role, content } = objectOf(value.message);
    if (role === "user") prompt ||= typedIn(contentText(content));
    const id = nameOf(value.id);
    if (id === undefined) continue;
    parents.set(id, nameOf(value.parentId));
    leaf = id;
  }
  if (!head || nameOf(head.id) === undefined) return undefined;
  const branch = leaf === undefined ? undefined : new Set(branchTo(leaf, (id) => parents.get(id)));
  return { head, branch, title: title ?? titleOf(prompt ?? ""), model, updatedAt };
}

/** The parent is named by the path of its file. Only the id in it is used. */
function parentOf({ parentSession }: Json): string | undefined {
  const name = basename(textOf(parentSession)).replace(/\.jsonl$/, "");
  return nameOf(name.slice(name.indexOf("_") + 1));
}

async function* messagesOf(
  file: FoundFile,
  branch: ReadonlySet<string> | undefined,
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  let session = "";
  for await (const { value, line } of readRecords(file, notes)) {
    if (value.type === "session") session ||= textOf(value.id);
    const parts = partsOf(value, notes);
    if (parts.length === 0) continue;
    const id = nameOf(value.id);
    if (branch && (id === undefined || !branch.has(id))) {
      notes.otherBranch(1);
      continue;
    }
    const time = timeOf(value.timestamp) ?? timeOf(objectOf(value.message).timestamp);
    for (const [index, { message, key, ...more }] of parts.entries()) {
      // A fork has the same entries in a file of its own. Only their ids and contents say so.
      const place =
        id === undefined ? `${session}:${line}` : `${id}:${hash("sha1", key).slice(0, 12)}`;
      yield {
        sourceId: `pi:${place}${index === 0 ? "" : `:${index}`}`,
        ...(message.role === "user" || message.role === "system"
          ? {}
          : { group: groupOf(message, place) }),
        message,
        origin: given({ author: isPrompt(message) ? ("user" as const) : undefined, time }),
        ...more,
        line,
      };
    }
  }
}

function isPrompt(message: Message): boolean {
  return message.role === "user" && !isSummary(message);
}

/** pi has a record for each result of an answer's calls. */
function groupOf(message: Message, place: string): string {
  return message.role === "tool_results" ? "results" : place;
}

interface Part {
  readonly key: string;
  readonly message: Message;
  readonly memory?: false;
  readonly boundary?: "compaction";
}

const SILENT_ENTRIES = new Set(
  "session title context_edit custom custom_message model_change thinking_level_change usage label session_info".split(
    " ",
  ),
);

function partsOf(entry: Json, notes: ImportNotes): readonly Part[] {
  switch (entry.type) {
    case "message":
      return messageParts(objectOf(entry.message), notes);
    case "compaction":
      return summary(textOf(entry.summary), { boundary: "compaction" });
    case "branch_summary":
      return summary(textOf(entry.summary));
    default:
      if (!SILENT_ENTRIES.has(textOf(entry.type))) notes.unknown(textOf(entry.type) || "?");
      return [];
  }
}

function messageParts(message: Json, notes: ImportNotes): readonly Part[] {
  const text = contentText(message.content);
  switch (message.role) {
    case "user": {
      const typed = typedIn(text);
      return typed === ""
        ? []
        : [{ key: `user ${text}`, message: { role: "user", content: typed } }];
    }
    case "system":
      return text === ""
        ? []
        : [{ key: `system ${text}`, message: { role: "system", content: text }, memory: false }];
    case "assistant":
      return answerParts(message.content, notes);
    case "toolResult": {
      const id = textOf(message.toolCallId);
      return [{ key: `result ${id}`, message: toolResult(id, text, message.isError === true) }];
    }
    // A command that the user ran beside the conversation, and what extensions put into it.
    case "bashExecution":
    case "custom":
    case "hookMessage":
      return [];
    case "branchSummary":
      return summary(textOf(message.summary) || text);
    case "compactionSummary":
      return summary(textOf(message.summary) || text, { boundary: "compaction" });
    default:
      notes.unknown(`message.${textOf(message.role) || "?"}`);
      return [];
  }
}

function answerParts(content: unknown, notes: ImportNotes): readonly Part[] {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
  return blocks.flatMap((value): readonly Part[] => {
    const block = objectOf(value);
    switch (block.type) {
      case "text": {
        const text = textOf(block.text);
        return text === "" ? [] : [{ key: `text ${text}`, message: answerText(text) }];
      }
      case "thinking": {
        const text = textOf(block.thinking);
        if (text === "") return [];
        return [{ key: `thinking ${text}`, message: answerThinking(text), memory: false }];
      }
      case "toolCall": {
        const id = textOf(block.id);
        const name = nameOf(block.name) ?? "unknown_tool";
        return [{ key: `call ${id}`, message: toolCall(id, name, block.arguments) }];
      }
      default:
        notes.unknown(`content.${textOf(block.type) || "?"}`);
        return [];
    }
  });
}

/**
 * What a person typed. pi puts the text of a skill, and files of its command line, before it:
 *
 *     <skill name="review" location="…">…</skill>
 *     the last commit                               typed as: /skill:review the last commit
 */
function typedIn(text: string): string {
  let rest = text.trim();
  let typed = "";
  for (;;) {
    const [, tag, name] = /^<(skill|file) name="([^"\n]*)"[^>\n]*>/.exec(rest) ?? [];
    const close = `</${tag}>`;
    const end = tag === undefined ? -1 : rest.indexOf(close);
    if (end < 0) return `${typed}${rest}`.trim();
    if (tag === "skill") typed += `/skill:${name} `;
    rest = rest.slice(end + close.length).trim();
  }
}

function summary(text: string, more: Pick<Part, "boundary"> = {}): readonly Part[] {
  if (text === "") return [];
  return [{ key: `summary ${text}`, message: summaryMessage(text), memory: false, ...more }];
}
