import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { isObject } from "../../core/fields.ts";
import { bytesAt, type FoundFile } from "../found-file.ts";
import type { ImportNotes } from "../imported.ts";
import { type Json, nameOf, parsedJson } from "../json-fields.ts";

/** A message of opencode with its parts, as it writes them. */
export interface StoredMessage {
  readonly id: string;
  readonly info: Json;
  /** A message of the newer table has its content in `info`. */
  readonly parts?: readonly Json[];
}

/** A session of opencode with its messages, the oldest first. */
export interface StoredSession {
  readonly id: string;
  readonly about: Json;
  readonly project: string | undefined;
  readonly messages: () => AsyncIterable<StoredMessage> | Iterable<StoredMessage>;
  /** When the last of its files was written, if there are several, once the messages are read. */
  readonly changedMs?: () => number;
}

/** Reads a session of the tree of JSON files, from the file that describes it. */
export async function* readTree(
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<StoredSession> {
  if (file.size > FILE_BYTES_MAX) {
    notes.skip(file, undefined, TOO_LONG);
    return;
  }
  const about = parsedJson(Buffer.from(await bytesAt(file, 0, file.size)).toString("utf8"));
  const id = basename(file.path, ".json");
  if (!isObject(about)) {
    notes.unfinished(file);
    return;
  }
  const storage = dirname(dirname(dirname(file.path)));
  // The earliest version had all three folders in that of the sessions.
  const root = basename(dirname(file.path)) === "info" ? dirname(dirname(file.path)) : storage;
  let changedMs = file.mtimeMs;
  const onFile = (mtimeMs: number) => {
    changedMs = Math.max(changedMs, mtimeMs);
  };
  // The messages are read, and reported, later.
  const messages = objectsIn(root, ["message", id], {
    ...{ file, onFile },
    notes: { ...notes, skip() {} },
  });
  const models = Array.from(messages, ({ value }) => nameOf(value.modelID));
  yield {
    id,
    about: { model: { id: models.findLast(Boolean) }, ...about },
    project: nameOf(about.directory),
    messages: () => messagesIn(root, id, { file, notes, onFile }),
    changedMs: () => changedMs,
  };
}

/** The session whose files are read. */
interface Tree {
  readonly file: FoundFile;
  readonly notes: ImportNotes;
  readonly onFile: (mtimeMs: number) => void;
}

const FILE_BYTES_MAX = 64 * 1024 * 1024;
const TOO_LONG = `it is longer than ${FILE_BYTES_MAX} bytes`;

function* messagesIn(root: string, session: string, tree: Tree): Generator<StoredMessage> {
  const messages = objectsIn(root, ["message", session], tree);
  const sorted = [...messages].sort((one, other) => createdAt(one) - createdAt(other));
  for (const { id, value } of sorted) {
    // The earliest version had the parts in a folder of the session.
    const places = [
      ["part", id],
      ["part", session, id],
    ];
    const parts = places.flatMap((place) => [...objectsIn(root, place, tree)]);
    yield { id, info: value, parts: parts.map((part) => ({ ...part.value, id: part.id })) };
  }
}

interface Named {
  readonly id: string;
  readonly value: Json;
}

function createdAt({ value }: Named): number {
  const created = isObject(value.time) ? value.time.created : undefined;
  return typeof created === "number" ? created : 0;
}

/** The objects of a folder below `root` by name. A link is left out, above the folder too: it may lead anywhere. */
function* objectsIn(
  root: string,
  below: readonly string[],
  { file, notes, onFile }: Tree,
): Generator<Named> {
  let folder = root;
  for (const part of below) {
    folder = join(folder, part);
    if (!lstatSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  }
  const entries = readdirSync(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".json"));
  for (const { name } of names.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = join(folder, name);
    const { size, mtimeMs } = lstatSync(path);
    onFile(mtimeMs);
    const value = size > FILE_BYTES_MAX ? undefined : objectAt(path);
    if (value) yield { id: basename(name, ".json"), value };
    else notes.skip({ ...file, path }, undefined, "it is not a JSON object, or too long");
  }
}

// A link or a pipe may have taken the file's place meanwhile.
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

function objectAt(path: string): Json | undefined {
  const opened = openSync(path, FLAGS);
  try {
    if (!fstatSync(opened).isFile()) return undefined;
    const value = parsedJson(readFileSync(opened, "utf8"));
    return isObject(value) ? value : undefined;
  } finally {
    closeSync(opened);
  }
}
