import { type Dirent, lstatSync, readdirSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { errorText, SessionError } from "../core/errors.ts";
import { isObject } from "../core/fields.ts";
import { lookAtFile } from "../files/plain-files.ts";
import { headOf, isBegun } from "../transcripts/file-head.ts";
import { bytesAt, type FoundFile } from "../transcripts/found-file.ts";
import type { AgentName, ImportFormat, Machine } from "../transcripts/imported.ts";
import { type DiskFile, diskFile, type LastRead } from "./disk-file.ts";
import { ImportTally } from "./import-report.ts";

/** The places to search for transcripts. */
export interface FindOptions {
  /** The folder that the file at `path` must be in, and not by a link. */
  readonly root?: string;
  readonly formats: readonly ImportFormat[];
  readonly machine: Machine;
  /** Only this agent. */
  readonly agent?: AgentName;
  /** A file or a folder. Default: where the agents keep their transcripts. */
  readonly path?: string;
}

/** Files of one agent. A file that is recognised only when it is read has none. */
export interface FoundTranscripts {
  readonly format: ImportFormat | undefined;
  readonly files: readonly DiskFile[];
}

/**
 * Finds the transcripts that can be imported.
 *
 * @throws SessionError `INVALID_PARAMS` when the path does not exist or cannot be read
 */
export function findTranscripts(
  { formats, machine, agent, path, root }: FindOptions,
  tally: Pick<ImportTally, "skip"> = new ImportTally(),
): readonly FoundTranscripts[] {
  const wanted = formats.filter((format) => agent === undefined || format.agent === agent);
  const onUnreadable = (folder: string, error: unknown) =>
    tally.skip(folder, undefined, `it cannot be read: ${reasonOf(error)}`);
  if (path !== undefined) {
    const files = root === undefined ? filesAt(path, wanted, onUnreadable) : fileBelow(root, path);
    return [{ format: undefined, files }];
  }
  return wanted.flatMap((format) => {
    const folders = format.places(machine).flatMap((folder) => realPath(folder, onUnreadable));
    const files = [...new Set(folders)].flatMap((folder) =>
      findFiles(folder, (below) => format.mayBe(below), onUnreadable),
    );
    return files.length > 0 ? [{ format, files }] : [];
  });
}

function filesAt(
  given: string,
  formats: readonly ImportFormat[],
  onUnreadable: (folder: string, error: unknown) => void,
): readonly DiskFile[] {
  const path = existingPath(given);
  const file = diskFile(path, () => [file].flatMap((one) => one ?? []));
  if (file) return [file];
  if (!lstatSync(path).isDirectory()) throw notImportable(given, "it is no file and no folder");
  const mayBe = (below: string) => formats.some((format) => format.mayBe(below));
  return findFiles(path, mayBe, onUnreadable);
}

/** @throws SessionError `UNSAFE_FILE` when a part of the path is a link, or became one meanwhile */
function fileBelow(root: string, path: string): readonly DiskFile[] {
  const file = diskFile(path, () => [file].flatMap((one) => one ?? []));
  const seen = lookAtFile(root, path);
  if (file && (!seen || !file.is(seen))) {
    throw new SessionError("UNSAFE_FILE", { detail: `${path} was replaced.` });
  }
  return file ? [file] : [];
}

/**
 * The path without links. You named it, so it may be a link; links below it are not followed.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
function existingPath(path: string): string {
  try {
    return realpathSync(resolve(path));
  } catch (error) {
    throw notImportable(path, reasonOf(error));
  }
}

function notImportable(path: string, reason: string): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: `${path} cannot be imported: ${reason}.`,
    hint: "Name a file or a folder with transcripts.",
  });
}

/** The folder without links; nothing where there is none. */
function realPath(
  folder: string,
  onUnreadable: (folder: string, error: unknown) => void,
): readonly string[] {
  try {
    return [realpathSync(folder)];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EACCES") onUnreadable(folder, error);
    return [];
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  EACCES: "you have no permission to read it",
  EPERM: "you have no permission to read it",
  ELOOP: "it is a link",
  EIO: "the disk failed",
};

/** SQLite's codes of a database that another program is writing. */
const LOCKED = new Set([5, 6]);

/** Why a file cannot be read, as a clause. */
export function reasonOf(error: unknown): string {
  if (isObject(error) && LOCKED.has(Number(error.errcode) & 0xff)) {
    return "another program keeps it locked. Close that program, or import again later";
  }
  const code = isObject(error) && typeof error.code === "string" ? error.code : "";
  return REASONS[code] ?? errorText(error).replace(/\.$/, "");
}

/** No agent nests its transcripts deeper than this. */
const DEPTH_MAX = 12;

/**
 * The files below a folder whose paths may be those of transcripts, the oldest first. So when two files
 * begin with the same messages, the one that was written first has them.
 *
 * Links are not followed: they may lead out of the folder, or in a circle.
 */
function findFiles(
  folder: string,
  mayBe: (path: string) => boolean,
  onUnreadable: (folder: string, error: unknown) => void,
): readonly DiskFile[] {
  const found: DiskFile[] = [];
  const last: LastRead = {};
  const visit = (below: string, depth: number): void => {
    for (const entry of entriesOf(join(folder, below), onUnreadable)) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory() && depth < DEPTH_MAX) visit(path, depth + 1);
      if (!entry.isFile() || !mayBe(path)) continue;
      const file = diskFile(join(folder, path), () => found, last);
      if (file) found.push(file);
    }
  };
  visit("", 0);
  return found.sort(
    (one, other) => one.mtimeMs - other.mtimeMs || (one.path < other.path ? -1 : 1),
  );
}

function entriesOf(
  folder: string,
  onUnreadable: (folder: string, error: unknown) => void,
): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") onUnreadable(folder, error);
    return [];
  }
}

/**
 * Files in the order in which they were written, by the times in them: a copy or a restore changes a file's own time. So when
 * two files begin with the same messages, the same one has them on every disk.
 */
export async function filesInOrder(files: readonly DiskFile[]): Promise<readonly DiskFile[]> {
  if (files.length < 2) return files;
  const ends: End[] = [];
  for (const file of files) ends.push(await endOf(file));
  return ends.sort(compared).map(({ file }) => file);
}

interface End {
  readonly file: DiskFile;
  /** Claude Code goes on in the background with a copy. */
  readonly isCopy: boolean;
  /** The last time that it names, in Unix milliseconds. */
  readonly timeMs: number;
}

const END_BYTES = 64 * 1024;

async function endOf(file: DiskFile): Promise<End> {
  let text = "";
  try {
    const bytes = await bytesAt(file, Math.max(0, file.size - END_BYTES), file.size);
    text = Buffer.from(bytes).toString("latin1");
  } catch {
    // The import says why it cannot be read.
  }
  const said = text.matchAll(/"timestamp":"(\d{4}-\d\d-\d\dT[\d:.]{8,20}Z)"/g);
  // Numbers instead of substrings: a substring would keep the whole text in memory.
  const times = Array.from(said, ([, at = ""]) => Date.parse(at)).filter(Number.isFinite);
  const timeMs = times.reduce((last, at) => Math.max(last, at), Number.NEGATIVE_INFINITY);
  return {
    file,
    isCopy: text.includes('"sessionKind":"bg"'),
    timeMs: times.length > 0 ? timeMs : file.mtimeMs,
  };
}

function compared(one: End, other: End): number {
  if (one.isCopy !== other.isCopy) return one.isCopy ? 1 : -1;
  if (one.timeMs !== other.timeMs) return one.timeMs - other.timeMs;
  return one.file.path < other.file.path ? -1 : 1;
}

/** The first of the formats that recognises a file by its path and its first bytes. */
export async function recogniseFile(
  file: FoundFile,
  formats: readonly ImportFormat[],
): Promise<ImportFormat | undefined> {
  const head = await headOf(file);
  if (isBegun(head, file.size)) return undefined;
  return formats.find((format) => format.recognises(head));
}

/** Whether its first line is still being written. */
export async function isStillBegun(file: FoundFile): Promise<boolean> {
  return file.path.endsWith(".jsonl") && isBegun(await headOf(file), file.size);
}

/** A sentence about a file of no known format. It has none of the file's words: they may be secret. */
export async function looksLike(file: FoundFile): Promise<string> {
  const { head, first } = await headOf(file);
  const text = Buffer.from(head).toString("utf8");
  if (head.length === 0) return "It is empty.";
  if (/^(?:\xff\xfe|\xfe\xff)/.test(Buffer.from(head).toString("latin1", 0, 2)))
    return "It is UTF-16. Save it as UTF-8.";
  if (text.startsWith("SQLite format 3")) return "It is a database of SQLite.";
  if (text.includes("\0") || text.includes("\uFFFD")) return "It has binary data.";
  if (/^\s*\[/.test(text)) return "It begins like a list in JSON.";
  if (first)
    return text.includes("\n{")
      ? "It has an object of JSON in each line."
      : "It is an object of JSON.";
  return /^\s*\{/.test(text) ? "It begins like an object of JSON." : "It is plain text.";
}
