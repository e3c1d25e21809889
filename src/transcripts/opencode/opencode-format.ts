import { basename, join } from "node:path";
import type { FoundFile } from "../found-file.ts";
import {
  type ImportedMessage,
  type ImportedSession,
  type ImportFormat,
  type ImportNotes,
  isLive,
  LIVE_MS,
} from "../imported.ts";
import { type Json, nameOf, objectOf, parsedJson, timeOf } from "../json-fields.ts";
import { callerOf, importedSession } from "../parts.ts";
import { isSqlite, type PlainTables, skipDamaged, withPlainTables } from "../plain-tables.ts";
import { messageParts, newMessageParts } from "./opencode-parts.ts";
import { readTree, type StoredMessage, type StoredSession } from "./opencode-stores.ts";

/**
 * The sessions of opencode: a database, which is only read. Before it there was a tree of JSON files, with the same
 * objects:
 *
 *     storage/session/<project>/<session>.json
 *     storage/message/<session>/<message>.json
 *     storage/part/<message>/<part>.json
 */
export const opencodeFormat = storesOf("opencode", /^opencode[^/\\]*\.db$/, /./);

/** Kilo Code, since it is made of opencode. */
export const kiloFormat = storesOf("kilo", /^kilo\.db$/, /[/\\]kilo[/\\]storage[/\\]/);

/** A tree of files has the same names in both: `tree` tells whose it is by the path. */
function storesOf(agent: "opencode" | "kilo", database: RegExp, tree: RegExp): ImportFormat {
  const isDatabase = (path: string) => database.test(basename(path));
  return {
    agent,
    places: ({ env, home }) => [join(env.XDG_DATA_HOME || join(home, ".local", "share"), agent)],
    mayBe: (path) => isDatabase(path) || SESSION_FILE.test(path),
    recognises: ({ path, head, first }) =>
      isDatabase(path)
        ? isSqlite(head)
        : SESSION_FILE.test(path) && tree.test(path) && nameOf(first?.id) !== undefined,
    async *read(file, notes) {
      const stored = isDatabase(file.path) ? readDatabase(file, notes) : readTree(file, notes);
      for await (const session of stored) yield sessionOf(agent, session, file, notes);
    },
  };
}

const SESSION_FILE = /(?:^|[/\\])storage[/\\]session[/\\][^/\\]+[/\\]ses[^/\\]*\.json$/;

function sessionOf(
  agent: "opencode" | "kilo",
  { id, about, project, messages, changedMs }: StoredSession,
  file: FoundFile,
  notes: ImportNotes,
): ImportedSession {
  const time = objectOf(about.time);
  const model = objectOf(about.model);
  const session = `${agent}:${id}`;
  // A task that Kilo Code moved into its database has the task's id there.
  const taskId = agent === "kilo" ? nameOf(about.slug) : undefined;
  return importedSession(
    agent,
    id,
    changedMs
      ? treeMessages(session, messages(), about.revert, { file, notes, changedMs })
      : messagesOf(session, messages(), about.revert, file, notes),
    {
      parent: callerOf(agent, nameOf(about.parent_id) ?? nameOf(about.parentID)),
      title: nameOf(about.title),
      project: nameOf(about.directory) ?? project,
      model: nameOf(model.id),
      startedAt: timeOf(about.time_created ?? time.created),
      updatedAt: timeOf(about.time_updated ?? time.updated),
      formerId: taskId && `kilo:${taskId}`,
    },
  );
}

/** The messages of a tree. While it grows, the file of its session stays as it is. */
async function* treeMessages(
  session: string,
  messages: AsyncIterable<StoredMessage> | Iterable<StoredMessage>,
  revert: unknown,
  { file, notes, changedMs }: { file: FoundFile; notes: ImportNotes; changedMs: () => number },
): AsyncGenerator<ImportedMessage> {
  const tree = {
    ...file,
    get mtimeMs() {
      return changedMs();
    },
  };
  yield* messagesOf(session, messages, revert, tree, notes);
  if (Date.now() - changedMs() < LIVE_MS) notes.readOn(file, { offset: 0, line: 0, again: true });
}

/** Without the last message, while it is being written: its parts come one by one, and change in place. */
async function* finished(
  messages: AsyncIterable<StoredMessage> | Iterable<StoredMessage>,
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<StoredMessage> {
  let last: StoredMessage | undefined;
  for await (const message of messages) {
    if (last) yield last;
    last = message;
  }
  const { error, time } = last?.info ?? {};
  const { created, completed } = objectOf(time);
  const isDone = completed !== undefined || error !== undefined;
  if (last && (isDone || !isLive(file, created, notes))) yield last;
}

/** `revert` hides its message and all after it, or the later parts of that message. Ids ascend. */
export async function* messagesOf(
  session: string,
  messages: AsyncIterable<StoredMessage> | Iterable<StoredMessage>,
  revert: unknown,
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  const from = nameOf(objectOf(revert).messageID);
  const fromPart = nameOf(objectOf(revert).partID);
  for await (const { id, info, parts } of finished(messages, file, notes)) {
    const sourceId = `${session}:${id}`;
    if (from !== undefined && (id > from || (id === from && fromPart === undefined))) {
      notes.otherBranch(1);
    } else if (parts === undefined) {
      yield* newMessageParts(info, sourceId, notes);
    } else {
      const shown =
        id === from && fromPart !== undefined
          ? parts.filter((part) => (nameOf(part.id) ?? "") < fromPart)
          : parts;
      yield* messageParts(info, shown, sourceId, notes);
    }
  }
}

/** Reads the sessions of opencode's database. */
export function readDatabase(
  file: FoundFile,
  notes: ImportNotes,
  lockTimeoutMs?: number,
): AsyncGenerator<StoredSession> {
  return withPlainTables(file, notes, (tables) => sessionsIn(tables, file, notes), lockTimeoutMs);
}

async function* sessionsIn(
  tables: PlainTables,
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<StoredSession> {
  if (!tables.has("session")) {
    notes.skip(file, undefined, "it is not a database of opencode");
    return;
  }
  const worktrees = new Map<string, string>();
  for await (const { id, worktree } of tables.rows("project", ["id", "worktree"])) {
    worktrees.set(String(id), String(worktree));
  }
  const sessions = await Array.fromAsync(tables.rows("session", SESSION));
  const messages = new StoredMessages(tables, file, notes);
  for (const row of sessions.sort(byId)) {
    const id = nameOf(row.id);
    if (id === undefined) continue;
    const about = { ...row, revert: json(row.revert), model: json(row.model) };
    const project = worktrees.get(String(row.project_id));
    yield { id, about, project, messages: () => messages.of(id) };
  }
}

const SESSION = [
  ...["id", "project_id", "parent_id", "directory", "title", "slug"],
  ...["revert", "model", "time_created", "time_updated"],
];

/** A row without its content, which is read when it is needed. */
interface RowPlace {
  readonly row: unknown;
  readonly id: unknown;
  readonly time_created?: unknown;
  readonly type?: unknown;
}

/** Bad records of a database that a report names. */
const NAMED_MAX = 20;

/** The messages of all sessions: where they are, and their content one by one. */
class StoredMessages {
  readonly #tables: PlainTables;
  readonly #file: FoundFile;
  readonly #notes: ImportNotes;
  #notJson = 0;
  #places: Promise<Record<"message" | "part" | "newer", Places>> | undefined;

  constructor(tables: PlainTables, file: FoundFile, notes: ImportNotes) {
    this.#tables = tables;
    this.#file = file;
    this.#notes = notes;
  }

  async *of(session: string): AsyncGenerator<StoredMessage> {
    try {
      this.#places ??= this.#findAll();
      const { message, part, newer } = await this.#places;
      let count = 0;
      for await (const found of this.#withParts(message.get(session) ?? [], part)) {
        count += 1;
        yield found;
      }
      if (count === 0) yield* this.#newer(newer.get(session) ?? []);
    } catch (error) {
      skipDamaged(error, this.#file, this.#notes);
    }
  }

  *#withParts(messages: readonly RowPlace[], parts: Places): Generator<StoredMessage> {
    if (messages.length === 0) return;
    const [dataOfMessage, dataOfPart] = ["message", "part"].map((table) =>
      this.#tables.dataOf(table),
    ) as [Reader, Reader];
    for (const place of messages) {
      const info = this.#object(place, dataOfMessage);
      const id = nameOf(place.id);
      if (!info || id === undefined) continue;
      const withIds = (parts.get(id) ?? []).flatMap((part) => {
        const data = this.#object(part, dataOfPart);
        return data ? [{ ...data, id: part.id }] : [];
      });
      yield { id, info: withTime(info, place), parts: withIds };
    }
  }

  *#newer(records: readonly RowPlace[]): Generator<StoredMessage> {
    if (records.length === 0) return;
    const dataOf = this.#tables.dataOf("session_message");
    for (const place of records) {
      const data = this.#object(place, dataOf);
      const id = nameOf(place.id);
      if (data && id !== undefined) {
        yield { id, info: withTime({ ...data, type: place.type }, place) };
      }
    }
  }

  #object(place: RowPlace, dataOf: Reader): Json | undefined {
    const data = json(dataOf(place.row));
    if (data !== undefined) return objectOf(data);
    this.#notJson += 1;
    const which =
      this.#notJson < NAMED_MAX
        ? `record ${String(place.id).slice(0, 100)} is`
        : "more records are";
    if (this.#notJson <= NAMED_MAX)
      this.#notes.skip(this.#file, undefined, `${which} not JSON, or larger than 64 MB`);
    return undefined;
  }

  async #findAll() {
    const both = this.#tables.has("message") && this.#tables.has("part");
    const times = ["id", "session_id", "time_created"];
    return {
      message: both ? await this.#find("message", "session_id", times) : new Map(),
      part: both ? await this.#find("part", "message_id", ["id", "message_id"]) : new Map(),
      newer: await this.#find("session_message", "session_id", [...times, "type"]),
    };
  }

  /** The rows of a table by the id that they belong to, in order. */
  async #find(table: string, owner: string, columns: readonly string[]): Promise<Places> {
    const places = new Map<unknown, RowPlace[]>();
    for await (const { [owner]: of, ...place } of this.#tables.rows(table, columns)) {
      const known = places.get(of);
      if (known) known.push(place as unknown as RowPlace);
      else places.set(of, [place as unknown as RowPlace]);
    }
    for (const some of places.values()) some.sort(byTime);
    return places;
  }
}

type Places = ReadonlyMap<unknown, readonly RowPlace[]>;
type Reader = (row: unknown) => unknown;

function byId(one: Json | RowPlace, other: Json | RowPlace): number {
  return compared(one.id, other.id);
}

function byTime(one: RowPlace, other: RowPlace): number {
  return compared(one.time_created, other.time_created) || byId(one, other);
}

/** SQLite's order: numbers before texts. */
function compared(one: unknown, other: unknown): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  if (typeof one === typeof other) return String(one) < String(other) ? -1 : one === other ? 0 : 1;
  return typeof one === "number" ? -1 : 1;
}

function withTime(info: Json, row: RowPlace): Json {
  return { ...info, time: { created: row.time_created, ...objectOf(info.time) } };
}

function json(value: unknown): unknown {
  return typeof value === "string" ? parsedJson(value) : undefined;
}
