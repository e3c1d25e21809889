import { hash } from "node:crypto";
import { basename, join } from "node:path";
import { withinNesting } from "../core/json-values.ts";
import { wordSet } from "../text/word-set.ts";
import type { FoundFile } from "./found-file.ts";
import {
  branchTo,
  type ImportedMessage,
  type ImportFormat,
  type ImportNotes,
  parentsIn,
  type ReadOn,
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
import {
  answer,
  call,
  importedSession,
  instruction,
  type PartOf,
  prompt,
  result,
  summary,
  thinking,
} from "./parts.ts";
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
      (first.type === "message" && "parentId" in first && "role" in objectOf(first.message)) ||
      (first.type === "title" && !("message" in first))),
  async *read(file, notes, from) {
    const outline = (from && (await outlineOf(file, from))) ?? (await outlineOf(file));
    if (!outline) return await noteNoSession(file, notes);
    const { about, next } = outline;
    const id = nameOf(about.head.id) ?? "";
    const parent = parentOf(about.head);
    if (next) notes.readOn(file, next);
    yield importedSession("pi", id, messagesOf(file, outline, notes), {
      parent: parent === undefined ? undefined : { id: `pi:${parent}`, relation: "fork" },
      project: nameOf(about.head.cwd),
      model: about.model,
      startedAt: timeOf(about.head.timestamp),
      updatedAt: about.updatedAt,
      isRest: outline.from && true,
      title: about.title ?? (outline.from ? undefined : titleOf(about.prompt ?? "")),
    });
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
    const [first] = entries;
    if (!first) return undefined;
    const id = idInName(file.path) ?? first.id;
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
    const time = timeOf(value.timestamp) ?? timeOf(objectOf(value.message).timestamp);
    const parts = [...partsOf(value, { time, line, group: "" }, notes)];
    if (parts.length === 0) continue;
    const id = nameOf(value.id);
    if (branch && (id === undefined || !branch.has(id))) {
      notes.otherBranch(1);
      continue;
    }
    for (const [index, part] of parts.entries()) {
      // A fork has the same entries in a file of its own. Only their ids and contents say so.
      const place =
        id === undefined
          ? `${session}:${line}`
          : `${id}:${hash("sha1", part.sourceId).slice(0, 12)}`;
      // pi has a record for each result of an answer's calls.
      const group = part.message.role === "tool_results" ? "results" : place;
      yield {
        ...part,
        sourceId: `pi:${place}${index === 0 ? "" : `:${index}`}`,
        ...(part.group === undefined ? {} : { group }),
      };
    }
  }
}

const SILENT_ENTRIES = wordSet(
  "session title context_edit custom custom_message model_change thinking_level_change usage label session_info",
);

/** The messages of an entry, each with a key of its content in the place of its id. */
function* partsOf(entry: Json, of: PartOf, notes: ImportNotes): Generator<ImportedMessage> {
  switch (entry.type) {
    case "message":
      yield* messageParts(objectOf(entry.message), of, notes);
      return;
    case "compaction":
      yield* summaryParts(textOf(entry.summary), of);
      return;
    case "branch_summary":
      yield* branchSummary(textOf(entry.summary), of);
      return;
    default:
      if (!SILENT_ENTRIES.has(textOf(entry.type))) notes.unknown(textOf(entry.type) || "?");
  }
}

function* messageParts(message: Json, of: PartOf, notes: ImportNotes): Generator<ImportedMessage> {
  const text = contentText(message.content);
  switch (message.role) {
    case "user": {
      const typed = promptInPi(text);
      if (typed !== "") yield prompt(`user ${text}`, typed, of);
      return;
    }
    case "system":
      if (text !== "") yield instruction(`system ${text}`, text, of);
      return;
    case "assistant":
      yield* answerParts(message.content, of, notes);
      return;
    case "toolResult": {
      const callId = textOf(message.toolCallId);
      yield result(`result ${callId}`, { callId, text, isError: message.isError === true }, of);
      return;
    }
    // Commands that the user ran beside the conversation, and texts of extensions.
    case "bashExecution":
    case "custom":
    case "hookMessage":
      return;
    case "branchSummary":
      yield* branchSummary(textOf(message.summary) || text, of);
      return;
    case "compactionSummary":
      yield* summaryParts(textOf(message.summary) || text, of);
      return;
    default:
      notes.unknown(`message.${textOf(message.role) || "?"}`);
  }
}

function* answerParts(
  content: unknown,
  of: PartOf,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
  for (const block of blocks.map(objectOf)) {
    const [text, thought] = [textOf(block.text), textOf(block.thinking)];
    switch (block.type) {
      case "text":
        if (text !== "") yield answer(`text ${text}`, text, of);
        break;
      case "thinking":
        if (thought !== "") yield thinking(`thinking ${thought}`, thought, of);
        break;
      case "toolCall": {
        const callId = textOf(block.id);
        const asked = { callId, name: textOf(block.name), args: block.arguments };
        yield call(`call ${callId}`, asked, of);
        break;
      }
      default:
        notes.unknown(`content.${textOf(block.type) || "?"}`);
    }
  }
}

function* summaryParts(text: string, of: PartOf): Generator<ImportedMessage> {
  if (text !== "") yield summary(`summary ${text}`, text, of);
}

/** The summary of a branch that was left. The window goes on. */
function* branchSummary(text: string, of: PartOf): Generator<ImportedMessage> {
  for (const { boundary: _, ...part } of summaryParts(text, of)) yield part;
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
