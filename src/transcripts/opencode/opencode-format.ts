import { basename, join } from "node:path";
import { given } from "../../core/fields.ts";
import type { FoundFile } from "../found-file.ts";
import {
  type ImportedMessage,
  type ImportedSession,
  type ImportFormat,
  type ImportNotes,
  isLive,
  LIVE_MS,
  messagesFor,
} from "../imported.ts";
import { nameOf, objectOf, timeOf } from "../json-fields.ts";
import { readDatabase } from "./opencode-database.ts";
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
export const opencodeFormat: ImportFormat = {
  agent: "opencode",
  places: ({ env, home }) => [join(env.XDG_DATA_HOME || join(home, ".local", "share"), "opencode")],
  mayBe: (path) => isDatabase(path) || SESSION_FILE.test(path),
  recognises: ({ path, head, first }) =>
    isDatabase(path)
      ? Buffer.from(head.subarray(0, 15)).toString("latin1") === "SQLite format 3"
      : SESSION_FILE.test(path) && nameOf(first?.id) !== undefined,
  async *read(file, notes) {
    const stored = isDatabase(file.path) ? readDatabase(file, notes) : readTree(file, notes);
    for await (const session of stored) yield sessionOf(session, file, notes);
  },
};

const SESSION_FILE = /(?:^|[/\\])storage[/\\]session[/\\][^/\\]+[/\\]ses[^/\\]*\.json$/;

function isDatabase(path: string): boolean {
  return /^opencode[^/\\]*\.db$/.test(basename(path));
}

function sessionOf(
  { id, about, project, messages, changedMs }: StoredSession,
  file: FoundFile,
  notes: ImportNotes,
): ImportedSession {
  const parentId = nameOf(about.parent_id) ?? nameOf(about.parentID);
  const parent: ImportedSession["parent"] =
    parentId === undefined ? undefined : { id: `opencode:${parentId}`, relation: "subagent" };
  const time = objectOf(about.time);
  const model = objectOf(about.model);
  return {
    id: `opencode:${id}`,
    agent: "opencode",
    nativeId: id,
    ...given({
      parent,
      title: nameOf(about.title),
      project: nameOf(about.directory) ?? project,
      model: nameOf(model.id),
      startedAt: timeOf(about.time_created ?? time.created),
      updatedAt: timeOf(about.time_updated ?? time.updated),
    }),
    messages: messagesFor(
      parent,
      changedMs
        ? treeMessages(id, messages(), about.revert, { file, notes, changedMs })
        : messagesOf(id, messages(), about.revert, file, notes),
    ),
  };
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
    const sourceId = `opencode:${session}:${id}`;
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
