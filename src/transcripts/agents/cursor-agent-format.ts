import { basename, dirname, join } from "node:path";
import { isObject } from "../../core/fields.ts";
import { jsonText } from "../../core/json-values.ts";
import { cursorPrompt } from "../cursor-format.ts";
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
import { answer, call, importedSession, prompt, Repeats, result, thinking } from "../parts.ts";
import { type PlainTables, skipDamaged, withPlainTables } from "../plain-tables.ts";
import { cursorAlias } from "./cursor-database-format.ts";

/**
 * The chats of Cursor's command line, a database each: `~/.cursor/chats/<folder>/<chat>/store.db`.
 *
 *     meta    key 0: JSON in hexadecimal digits, with the chat's name and the id of its root
 *     blobs   by the hash of each: the root, whose field 1 has the ids of the messages in their order, and the messages
 *
 * The transcript of a chat below `~/.cursor/projects` has the same messages. They have no times.
 */
export const cursorAgentFormat: ImportFormat = {
  agent: "cursor",
  places: ({ home }) => [join(home, ".cursor", "chats")],
  mayBe: (path) => /(?:^|\/)store\.db$/.test(path),
  recognises: ({ head }) => {
    const text = Buffer.from(head).toString("latin1");
    const hasTables = /CREATE TABLE "?blobs\b/i.test(text) && /CREATE TABLE "?meta\b/i.test(text);
    return hasTables && text.startsWith("SQLite format 3");
  },
  read: (file, notes) => withPlainTables(file, notes, (tables) => chatIn(tables, file, notes)),
};

async function* chatIn(
  tables: PlainTables,
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<ImportedSession> {
  let about: Json = {};
  for await (const { key, value } of tables.rows("meta", ["key", "value"])) {
    if (key === "0") about = objectOf(parsedJson(Buffer.from(textOf(value), "hex").toString()));
  }
  const rows = new Map<string, unknown>();
  for await (const { id, row } of tables.rows("blobs", ["id"])) rows.set(textOf(id), row);
  const dataOf = tables.dataOf("blobs");
  const blob = (id: string): Buffer | undefined => {
    const data = rows.has(id) ? dataOf(rows.get(id)) : undefined;
    return data instanceof Uint8Array ? Buffer.from(data) : undefined;
  };
  const root = blob(textOf(about.latestRootBlobId));
  if (!root) return notes.skip(file, undefined, "it has no messages");
  const id = nameOf(about.agentId) ?? basename(dirname(file.path));
  const order = idsIn(root);
  const message = (each: string) => objectOf(parsedJson(blob(each)?.toString() ?? ""));
  const typed = order.map((each) => typedIn(message(each))).find((text) => text !== undefined);
  const messages = async function* (): AsyncGenerator<ImportedMessage> {
    const repeats = new Repeats();
    let lost = 0;
    try {
      for (const each of order) {
        const value = message(each);
        if (typeof value.role !== "string") lost += 1;
        const times = repeats.next(each);
        const place = `cursor:${id}:${each}${times === 1 ? "" : `:${times}`}`;
        for (const part of partsOf(place, value, notes))
          yield { ...part, alias: cursorAlias(id, repeats, part) };
      }
    } catch (error) {
      skipDamaged(error, file, notes);
    }
    if (lost > 0) notes.skip(file, undefined, `${lost} messages of a chat have no text`);
  };
  yield importedSession("cursor", id, messages(), {
    title: nameOf(about.name) ?? titleOf(typed ?? ""),
    model: nameOf(about.lastUsedModel),
    startedAt: timeOf(about.createdAt),
  });
}

/** The values of field 1 in Protocol Buffers: hashes of 32 bytes. The other fields are passed over. */
function idsIn(bytes: Buffer): readonly string[] {
  const ids: string[] = [];
  let at = 0;
  const number = (): number => {
    let value = 0;
    for (let scale = 1; at < bytes.length; scale *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    return Number.POSITIVE_INFINITY;
  };
  while (at < bytes.length) {
    const key = number();
    const kind = key % 8;
    if (kind === 0) number();
    else {
      const size = kind === 2 ? number() : kind === 1 ? 8 : kind === 5 ? 4 : bytes.length;
      if (key === 10 && size === 32) ids.push(bytes.toString("hex", at, at + size));
      at += size;
    }
  }
  return ids;
}

function typedIn({ role, content }: Json): string | undefined {
  return role === "user" ? cursorPrompt(contentText(content)) || undefined : undefined;
}

function* partsOf(group: string, value: Json, notes: ImportNotes): Generator<ImportedMessage> {
  const { role, content } = value;
  const typed = typedIn(value);
  if (typed) yield prompt(group, typed, {});
  if (role !== "assistant" && role !== "tool") return;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
  for (const [index, block] of blocks.map(objectOf).entries()) {
    const id = index === 0 ? group : `${group}:${index}`;
    const text = textOf(block.text);
    const callId = nameOf(block.toolCallId) ?? id;
    switch (block.type) {
      case "text":
        if (text.trim() !== "") yield answer(id, text, { group });
        break;
      case "reasoning":
        if (text.trim() !== "") yield thinking(id, text, { group });
        break;
      case "redacted-reasoning":
        break;
      case "tool-call":
        yield call(id, { callId, name: textOf(block.toolName), args: block.args }, { group });
        break;
      case "tool-result": {
        const { result: said } = block;
        const shown = isObject(said) ? (jsonText(said) ?? "") : contentText(said);
        yield result(id, { callId, text: shown }, { group });
        break;
      }
      default:
        notes.unknown(`content.${textOf(block.type) || "?"}`);
    }
  }
}
