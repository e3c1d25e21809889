import { basename, join } from "node:path";
import { readLines } from "../text/read-lines.ts";
import { cursorAlias } from "./agents/cursor-database-format.ts";
import { blockParts, type MessagePart } from "./chat-message-parts.ts";
import type { FoundFile } from "./found-file.ts";
import {
  answerText,
  type ImportedMessage,
  type ImportFormat,
  type ImportNotes,
} from "./imported.ts";
import { contentText, type Json, listOf, objectOf, textOf, titleOf } from "./json-fields.ts";
import { importedSession, Repeats } from "./parts.ts";
import { readRecords } from "./read-records.ts";

/**
 * The transcripts that Cursor writes for its agents: lines of `{ role, message: { content } }`, or a text in which
 * `user:` and `assistant:` stand above each message. They have no times.
 */
export const cursorFormat: ImportFormat = {
  agent: "cursor",
  places: ({ home }) => [join(home, ".cursor", "projects")],
  mayBe: (path) => /(?:^|\/)agent-transcripts\/(?:[^/]+\/)*[^/]+\.(?:jsonl|txt)$/.test(path),
  recognises: ({ path, first, head }) =>
    path.endsWith(".txt")
      ? /^\s*(?:user|assistant):\s*\n/.test(new TextDecoder().decode(head))
      : first !== undefined &&
        typeof first.role === "string" &&
        "content" in objectOf(first.message) &&
        !("uuid" in first),
  async *read(file, notes) {
    const id = basename(file.path).replace(/\.(?:jsonl|txt)$/, "");
    let title: string | undefined;
    for await (const { parts } of partsIn(file)) {
      const typed = parts.map(promptOf).find((text) => text !== undefined);
      title = titleOf(typed ?? "");
      if (title !== undefined) break;
    }
    yield importedSession("cursor", id, messagesOf(id, file, notes), { title });
  },
};

interface Said {
  readonly line: number;
  readonly parts: readonly MessagePart[];
}

async function* messagesOf(
  session: string,
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  const repeats = new Repeats();
  for await (const { line, parts } of partsIn(file, notes)) {
    const id = `cursor:${session}:${line}`;
    for (const [index, part] of parts.entries()) {
      const sourceId = index === 0 ? id : `${id}:${index}`;
      const read = shownPart(part, { sourceId, group: id, line });
      // The editor's database may have the same message.
      if (read) yield { ...read, alias: cursorAlias(session, repeats, read) };
    }
  }
}

function shownPart(
  part: MessagePart,
  { group, ...at }: { readonly sourceId: string; readonly group: string; readonly line: number },
): ImportedMessage | undefined {
  if (part.message.role !== "user") return { ...part, ...at, group, origin: {} };
  const content = promptOf(part);
  if (content === undefined) return undefined;
  return { ...at, message: { role: "user", content }, origin: { author: "user" } };
}

function partsIn(file: FoundFile, notes?: ImportNotes): AsyncIterable<Said> {
  return file.path.endsWith(".txt") ? textParts(file, notes) : lineParts(file, notes);
}

async function* lineParts(file: FoundFile, notes?: ImportNotes): AsyncGenerator<Said> {
  for await (const { value, line } of readRecords(file, notes)) {
    const role = textOf(value.role);
    if (role !== "user" && role !== "assistant") {
      notes?.unknown(role || textOf(value.type) || "?");
      continue;
    }
    const { content } = objectOf(value.message);
    const blocks: readonly Json[] =
      typeof content === "string"
        ? [{ type: "text", text: content }]
        : listOf(content).map(objectOf);
    yield { line, parts: blockParts(role, blocks, (type) => notes?.unknown(type)) };
  }
}

const TEXT_BYTES_MAX = 64 * 1024 * 1024;

/** A section ends where the next one begins. */
async function* textParts(file: FoundFile, notes?: ImportNotes): AsyncGenerator<Said> {
  let role = "";
  let start = 1;
  let lines: string[] = [];
  const section = (): readonly Said[] => {
    const text = lines.join("\n").trim();
    if (role === "" || text === "") return [];
    const part: MessagePart =
      role === "user"
        ? { message: { role: "user", content: text } }
        : { message: answerText(text) };
    return [{ line: start, parts: [part] }];
  };
  for await (const line of readLines(file.read(), TEXT_BYTES_MAX)) {
    if (line.problem) {
      notes?.skip(file, line.number, "it is too long or not UTF-8");
      continue;
    }
    const [, marked] = /^(user|assistant):\s*$/.exec(line.text) ?? [];
    // Blank lines are left out by the reader, so the number says where a line belongs.
    if (marked === undefined) lines[line.number - start] = line.text;
    else {
      yield* section();
      role = marked;
      start = line.number;
      lines = [];
    }
  }
  yield* section();
}

function promptOf({ message }: MessagePart): string | undefined {
  return message.role === "user" ? cursorPrompt(contentText(message.content)) : undefined;
}

/** The typed text, which stands in `<user_query>`. A text that begins with another tag was injected. */
export function cursorPrompt(text: string): string | undefined {
  const start = text.indexOf("<user_query>");
  if (start < 0) return /^\s*<[a-z_]+>/.test(text) ? undefined : text;
  const end = text.indexOf("</user_query>", start);
  return text.slice(start + "<user_query>".length, end < 0 ? undefined : end).trim();
}
