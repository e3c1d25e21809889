import { hash } from "node:crypto";
import { join } from "node:path";
import { isObject } from "../../core/fields.ts";
import { jsonText } from "../../core/json-values.ts";
import { type FoundFile, isYoung } from "../found-file.ts";
import {
  type ImportedMessage,
  type ImportedSession,
  type ImportFormat,
  type ImportNotes,
  isLive,
} from "../imported.ts";
import {
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
  prompt,
  Repeats,
  result,
  thinking,
} from "../parts.ts";
import { isSqlite, type PlainTables, skipDamaged, withPlainTables } from "../plain-tables.ts";
import { editorFolders } from "./vscode-folders.ts";

/**
 * The chats of Cursor's editor: values of JSON in a database, by keys.
 *
 *     cursorDiskKV   composerData:<chat>        its title, its times, and the order of its messages
 *                    bubbleId:<chat>:<bubble>   a message: type 1 is the user's, 2 an answer or a call
 *     ItemTable      chatdata, composerData     the chats of 2024, whole
 *
 * The other keys of the database are settings and credentials. Their values are never read.
 */
export const cursorDatabaseFormat: ImportFormat = {
  agent: "cursor",
  places: (machine) =>
    editorFolders(machine, ["Cursor"]).flatMap((folder) =>
      ["globalStorage", "workspaceStorage"].map((name) => join(folder, name)),
    ),
  mayBe: (path) => /(?:^|\/)state\.vscdb$/.test(path),
  recognises: ({ path, head }) => path.endsWith(".vscdb") && isSqlite(head),
  read: (file, notes) =>
    withPlainTables(file, notes, (tables) => new CursorChats(tables, file, notes).sessions()),
};

/** An alias of what is said, which Cursor's transcripts of agents have too: the n-th such text of its chat. */
export function cursorAlias(chat: string, repeats: Repeats, { message }: ImportedMessage): string {
  const said = `${message.role} ${hash("sha256", jsonText(saidIn(message))).slice(0, 24)}`;
  return `cursor:${chat}:${said}:${repeats.next(`${chat} ${said}`)}`;
}

/** The text without the spaces around it, or the name of the call: its arguments have other forms in transcripts. */
function saidIn(message: ImportedMessage["message"]): unknown {
  if (message.role !== "block_assistant") return "content" in message ? message.content : message;
  return message.blocks.map((block) =>
    block.block_type === "tool_use" ? block.data.name : block.data.text.trim(),
  );
}

const CHAT_KEYS = ["workbench.panel.aichat.view.aichat.chatdata", "composer.composerData"];

class CursorChats {
  readonly #tables: PlainTables;
  readonly #file: FoundFile;
  readonly #notes: ImportNotes;
  readonly #bubbles = new Map<string, Map<string, unknown>>();
  readonly #parents = new Map<string, string>();

  constructor(tables: PlainTables, file: FoundFile, notes: ImportNotes) {
    this.#tables = tables;
    this.#file = file;
    this.#notes = notes;
  }

  async *sessions(): AsyncGenerator<ImportedSession> {
    const chats = new Map<string, unknown>();
    for await (const { key, row } of this.#tables.rows("cursorDiskKV", ["key"])) {
      const [, kind, chat = "", bubble = ""] =
        /^(composerData|bubbleId):([^:]+)(?::(.+))?$/.exec(String(key)) ?? [];
      if (kind === "composerData") chats.set(chat, row);
      else if (kind === "bubbleId") {
        const known = this.#bubbles.get(chat) ?? new Map<string, unknown>();
        this.#bubbles.set(chat, known.set(bubble, row));
      }
    }
    const read = this.#reader("cursorDiskKV");
    for (const [id, row] of chats) {
      for (const child of listOf(read(row)?.subComposerIds)) this.#parents.set(String(child), id);
    }
    for (const [id, row] of chats) {
      const about = read(row);
      if (about) yield* this.#session(id, about);
      else this.#notes.skip(this.#file, undefined, "a chat has no value, or is not JSON");
    }
    yield* this.#wholeChats();
  }

  /** The chats of 2024, which stand in one value. */
  async *#wholeChats(): AsyncGenerator<ImportedSession> {
    const rows: unknown[] = [];
    for await (const { key, row } of this.#tables.rows("ItemTable", ["key"])) {
      if (CHAT_KEYS.includes(String(key))) rows.push(row);
    }
    const read = this.#reader("ItemTable");
    for (const row of rows) {
      const value = objectOf(read(row));
      for (const chat of listOf(value.tabs).map(objectOf)) {
        const about = { name: chat.chatTitle, conversation: chat.bubbles };
        yield* this.#session(textOf(chat.tabId), about);
      }
      for (const chat of listOf(value.allComposers).map(objectOf)) {
        if (chat.conversation) yield* this.#session(textOf(chat.composerId), chat);
      }
    }
  }

  *#session(id: string, about: Json): Generator<ImportedSession> {
    const whole = listOf(about.conversation).map(objectOf);
    const order = listOf(about.fullConversationHeadersOnly).map((each) => objectOf(each).bubbleId);
    // A chat that was opened, and in which nothing was said.
    if (id === "" || whole.length + order.length === 0) return;
    const folder = objectOf(objectOf(about.workspaceIdentifier).uri);
    const above = this.#parents.get(id) ?? nameOf(objectOf(about.subagentInfo).parentComposerId);
    const bubbles = () => (order.length > 0 ? this.#stored(id, order.map(String)) : whole);
    const messages = this.#messages(id, () => this.#finished(bubbles(), about));
    yield importedSession("cursor", id, messages, {
      parent: callerOf("cursor", above),
      title: nameOf(about.name) ?? titleOf(textOf(whole.find(isTyped)?.text)),
      project: nameOf(folder.fsPath) ?? nameOf(folder.path),
      model: nameOf(objectOf(about.modelConfig).modelName),
      startedAt: timeOf(about.createdAt),
      updatedAt: timeOf(about.lastUpdatedAt),
    });
  }

  async *#messages(chat: string, bubbles: () => Iterable<Json>): AsyncGenerator<ImportedMessage> {
    const repeats = new Repeats();
    try {
      let number = 0;
      for (const bubble of bubbles()) {
        number += 1;
        const id = `cursor:${chat}:${nameOf(bubble.bubbleId) ?? nameOf(bubble.id) ?? number}`;
        for (const part of bubbleParts(id, bubble, this.#notes)) {
          yield { ...part, alias: cursorAlias(chat, repeats, part) };
        }
      }
    } catch (error) {
      skipDamaged(error, this.#file, this.#notes);
    }
  }

  /** Without the end of an answer that is being written: texts grow in place, and calls get their arguments and results. */
  *#finished(bubbles: Iterable<Json>, about: Json): Generator<Json> {
    const isDone = /^(?:completed|aborted)$/.test(textOf(about.status));
    if (isDone || !isYoung(this.#file)) return yield* bubbles;
    let last: Json[] = [];
    for (const bubble of bubbles) {
      if (isTyped(bubble) || !last.some(isRunning)) {
        yield* last;
        last = [];
      }
      last.push(bubble);
    }
    const since = about.lastUpdatedAt ?? about.createdAt;
    if (last.every(isTyped) || !isLive(this.#file, since, this.#notes)) yield* last;
  }

  /** The messages of a chat, in their order. Those that are not in it any more were taken back. */
  *#stored(chat: string, order: readonly string[]): Generator<Json> {
    const rows = this.#bubbles.get(chat) ?? new Map<string, unknown>();
    const read = this.#reader("cursorDiskKV");
    let lost = 0;
    for (const id of order) {
      const bubble = rows.has(id) ? read(rows.get(id)) : undefined;
      if (bubble) yield { ...bubble, bubbleId: id };
      else lost += 1;
    }
    const shown = new Set(order);
    this.#notes.otherBranch([...rows.keys()].filter((id) => !shown.has(id)).length);
    if (lost > 0)
      this.#notes.skip(this.#file, undefined, `${lost} messages of a chat have no text`);
  }

  #reader(table: string): (row: unknown) => Json | undefined {
    if (!this.#tables.has(table)) return () => undefined;
    const dataOf = this.#tables.dataOf(table, "value");
    return (row) => {
      const data = dataOf(row);
      const text = data instanceof Uint8Array ? Buffer.from(data).toString("utf8") : textOf(data);
      const value = parsedJson(text);
      return isObject(value) ? value : undefined;
    };
  }
}

const isRunning = ({ toolFormerData }: Json) => objectOf(toolFormerData).status === "loading";
const isTyped = ({ type }: Json) => type === 1 || type === "user";

function* bubbleParts(id: string, bubble: Json, notes: ImportNotes): Generator<ImportedMessage> {
  const sentAt = objectOf(bubble.timingInfo).clientStartTime;
  const time = timeOf(bubble.createdAt) ?? (Number(sentAt) > 1e12 ? timeOf(sentAt) : undefined);
  const of = { time, group: id };
  const text = textOf(bubble.text) || textOf(bubble.rawText);
  if (isTyped(bubble)) {
    const shown =
      text.trim() ||
      listOf(bubble.images)
        .map(() => "[image]")
        .join("\n");
    if (shown !== "") yield prompt(id, shown, of);
    return;
  }
  if (bubble.type !== 2 && bubble.type !== "ai") {
    notes.unknown(`bubble.${jsonText(bubble.type)}`);
    return;
  }
  const thought = textOf(objectOf(bubble.thinking).text);
  if (thought.trim() !== "") yield thinking(`${id}:thinking`, thought, of);
  if (text.trim() !== "") yield answer(id, text, of);
  if (isObject(bubble.toolFormerData)) yield* toolParts(id, bubble.toolFormerData, of);
}

function* toolParts(
  id: string,
  tool: Json,
  of: { readonly time?: string | undefined; readonly group: string },
): Generator<ImportedMessage> {
  const callId = nameOf(tool.toolCallId) ?? id;
  const args = tool.rawArgs || tool.params;
  yield call(`${id}:call`, { callId, name: textOf(tool.name), args }, of);
  const error = textOf(tool.error) || textOf(objectOf(tool.error).message);
  const isError = tool.status === "error" || error !== "";
  const shown = typeof tool.result === "string" ? tool.result : "";
  const text = error || shown || (isObject(tool.result) ? jsonText(tool.result) : "");
  if (tool.userDecision === "rejected") {
    const denied = "The user rejected permission to use this tool.";
    yield result(`${id}:result`, { callId, text: denied, isError: true }, of);
  } else if (text !== "" || isError) yield result(`${id}:result`, { callId, text, isError }, of);
}
