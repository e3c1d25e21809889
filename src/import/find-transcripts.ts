import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { errorText, SessionError } from "../core/errors.ts";
import { isObject } from "../core/fields.ts";
import { lookAtFile } from "../files/plain-files.ts";
import type { AgentName, ImportFormat, Machine } from "../transcripts/imported.ts";
import { type DiskFile, diskFile } from "./disk-file.ts";
import { findFiles } from "./find-files.ts";
import { ImportTally } from "./import-report.ts";

/** Where transcripts are looked for. */
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
 * Finds what can be imported.
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
    throw new SessionError("INVALID_PARAMS", {
      message: `${path} cannot be imported: ${reasonOf(error)}.`,
      hint: "Name a file or a folder with transcripts.",
    });
  }
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
