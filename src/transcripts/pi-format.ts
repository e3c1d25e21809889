import { hash } from "node:crypto";
import { basename, join } from "node:path";
import { given } from "../core/fields.ts";
import { withinNesting } from "../core/json-values.ts";
import { isSummary, type Message, summaryMessage } from "../core/message.ts";
import type { FoundFile } from "./found-file.ts";
import {
  answerText,
  answerThinking,
  branchTo,
  type ImportedMessage,
  type ImportFormat,
  type ImportNotes,
  parentsIn,
  type ReadOn,
  toolCall,
  toolResult,
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
import { importedSession } from "./parts.ts";
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
  recognises: ({ first, path }) =>
    first !== undefined &&
    ((idInName(path) !== undefined && "parentId" in first && typeof first.id === "string") ||
      (first.type === "session" && typeof first.id === "string" && "cwd" in first) ||
      (first.type === "title" && !("message" in first))),
  async *read(file, notes, from) {
    const outline = (from && (await outlineOf(file, from))) ?? (await outlineOf(file));
    if (!outline) return await noteNoSession(file, notes);
    const { about, next } = outline;
    const id = nameOf(about.head.id) ?? "";
    const parent = parentOf(about.head);
    if (next) notes.readOn(file, next);
    yield importedSession(
      "pi",
      id,
      {
        parent:
          parent === undefined ? undefined : { id: `pi:${parent}`, relation: "fork" as const },
        project: nameOf(about.head.cwd),
        model: about.model,
        startedAt: timeOf(about.head.timestamp),
        updatedAt: about.updatedAt,
        isRest: outline.from && (true as const),
        title: about.title ?? (outline.from ? undefined : titleOf(about.prompt ?? "")),
      },
      messagesOf(file, outline, notes),
    );
  },
};

/** `2026-05-01T10-00-00-000Z_0f3c2b1a-….jsonl` */
function idInName(path: string): string | undefined {
  return /\d{4}-\d\d-\d\dT[\dZ-]+_([\w-]{8,64})\.jsonl$/.exec(path)?.[1];
}

/** The metadata of a session. */
interface About {
  head: Json;
  title?: string | undefined;
  prompt?: string | undefined;
  model?: string | undefined;
  updatedAt?: string | undefined;
}

interface Outline {
  readonly about: About;
  /** The entries of the branch; all, if they have no ids. */
  readonly branch: ReadonlySet<string> | undefined;
  /** The place from which the file was read, if not its start. */
  readonly from: ReadOn | undefined;
  /** The place where the next reading may begin. */
  readonly next: ReadOn | undefined;
}

interface Entry {
  readonly id: string;
  readonly parent: string | undefined;
  /** The place of a prompt. */
  readonly at: Pick<ReadOn, "line" | "offset"> | undefined;
}

/** Reads the file, or its end, for the first time. Undefined if it has no session, or the end alone is not enough. */
async function outlineOf(file: FoundFile, from?: ReadOn): Promise<Outline | undefined> {
  const before = objectOf(from?.state);
  const about: About = { head: {}, ...objectOf(before.about) };
  const entries: Entry[] = [];
  for await (const { value, line, offset } of readRecords(file, undefined, from)) {
    if (value.type === "session") {
      if (nameOf(about.head.id) === undefined) about.head = withinNesting(value);
      continue;
    }
    const { role, content, model } = objectOf(value.message);
    about.updatedAt = timeOf(value.timestamp) ?? about.updatedAt;
    if (value.type === "title" && !from) about.title ??= nameOf(textOf(value.title).trim());
    if (value.type === "session_info") about.title = nameOf(value.name) ?? about.title;
    about.model = nameOf(value.type === "model_change" ? value.modelId : model) ?? about.model;
    if (role === "user") about.prompt ||= promptInPi(contentText(content));
    const id = nameOf(value.id);
    if (id === undefined) continue;
    const at = role === "user" ? { line, offset } : undefined;
    entries.push({ id, parent: nameOf(value.parentId), at });
  }
  // The first line may be lost.
  if (nameOf(about.head.id) === undefined) {
    const id = entries.length > 0 ? idInName(file.path) : undefined;
    if (id === undefined) return undefined;
    about.head = { id };
  }
  const leaf = entries.at(-1)?.id;
  const parents = from
    ? new Map(entries.map(({ id, parent }) => [id, parent]))
    : parentsIn(entries);
  const branch = leaf === undefined ? [] : branchTo(leaf, (id) => parents.get(id));
  if (from && branch[0] !== before.above) return undefined;
  const shown = new Set(branch);
  const restart = restartIn(entries, shown);
  // A title may be what was said, and only a new session takes one.
  const { title, prompt, ...untitled } = about;
  return {
    about,
    branch: leaf === undefined ? undefined : shown,
    from,
    next: restart ? { ...restart.at, state: { about: untitled, above: restart.above } } : from,
  };
}

/** The last prompts, one of which is where a later reading may begin. */
const PROMPTS_TRIED = 16;

/** The last prompt of the branch that all later entries belong to. */
function restartIn(entries: readonly Entry[], branch: ReadonlySet<string>) {
  const later = new Set<string>();
  const parents = new Set<string | undefined>();
  let tried = 0;
  for (const { id, parent, at } of entries.toReversed()) {
    later.add(id);
    parents.add(parent);
    if (!at || parent === undefined || !branch.has(id)) continue;
    const isAll = [...parents].every((each) => each === parent || (each && later.has(each)));
    if (isAll && !later.has(parent)) return { at, above: parent };
    tried += 1;
    if (tried === PROMPTS_TRIED) return undefined;
  }
  return undefined;
}

/** The parent is named by the path of its file. Only the id in it is used. */
function parentOf({ parentSession }: Json): string | undefined {
  const name = basename(textOf(parentSession)).replace(/\.jsonl$/, "");
  return nameOf(name.slice(name.indexOf("_") + 1));
}

async function* messagesOf(
  file: FoundFile,
  { branch, from }: Outline,
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  let session = "";
  for await (const { value, line } of readRecords(file, notes, from)) {
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
      const typed = promptInPi(text);
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
    // Commands that the user ran beside the conversation, and texts of extensions.
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
 * The text that a person typed. pi puts the text of a skill, and files of its command line, before it:
 *
 *     <skill name="review" location="…">…</skill>
 *     the last commit                               typed as: /skill:review the last commit
 */
export function promptInPi(text: string): string {
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
