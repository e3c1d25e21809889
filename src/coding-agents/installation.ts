import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { ownFolder, requireHome } from "../config/config-places.ts";
import { errorText, SessionError } from "../core/errors.ts";
import { given, isObject } from "../core/fields.ts";
import { parsedJson } from "../core/json-values.ts";
import { makeFolders } from "../files/make-folders.ts";
import { lookAt, makeFolder, readSmallFile, replaceFile } from "../files/plain-files.ts";
import {
  beforeInsertions,
  type ChangedText,
  type Content,
  UnchangeableText,
  withContent,
  withoutContent,
} from "./change-text.ts";

/** A file of another program, and what rkat puts into it. */
export interface AgentFile {
  /** No link is followed below this folder, unless `isOwn`. */
  readonly root: string;
  readonly path: string;
  /** It is one of your own, below your home, where a link is yours: many people keep their settings in a repository. */
  readonly isOwn?: true;
  readonly content: Content;
}

/** A file before and after a change. `undefined` where there is no file. */
export interface FileChange {
  readonly file: FilePlace;
  /** The path that leads to the file. */
  readonly named: string;
  /** Folders to remove with the file, if they are empty then. */
  readonly folders: number;
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** The permissions that the file gets, and those that it had. Default: private to you. */
  readonly mode?: number;
  readonly formerMode?: number;
}

/** The record of a change to a file, so that it can be undone. */
interface Receipt extends Pick<ChangedText, "insertions" | "added"> {
  /** The hash of the file as rkat wrote it. */
  readonly sha256: string;
  /** The number of folders that were made for the file. Set if there was no file before. */
  readonly madeFolders?: number;
  /** The permissions that the file had before. */
  readonly mode?: number;
}

type Receipts = Readonly<Record<string, Receipt>>;

type Environment = Readonly<Record<string, string | undefined>>;

const FILE_BYTES_MAX = 32 * 1024 * 1024;

/**
 * The changes that `rkat install` makes, and the receipts after it. Text of an earlier install is removed
 * first, so the second install changes nothing.
 *
 * @throws SessionError `NOT_POSSIBLE`, `UNSAFE_FILE`
 */
export async function planInstall(files: readonly AgentFile[], env: Environment): Promise<Plan> {
  return await plan(files, env, async ({ file, without, receipt, mode }) => {
    const changed = await withContent(without, file.content);
    const { text: after, insertions, added } = changed;
    const isOurs = insertions.length > 0 || added.kind === "whole";
    if (!isOurs) return { after, receipt: undefined };
    const made =
      without === undefined ? { madeFolders: receipt?.madeFolders ?? missingFolders(file) } : {};
    const before = receipt?.mode ?? mode;
    const kept = before === undefined || without === undefined ? {} : { mode: before };
    return {
      after,
      receipt: { sha256: hash("sha256", after), ...made, ...kept, insertions, added },
    };
  });
}

/**
 * The changes that `rkat uninstall` makes.
 *
 * @throws SessionError `NOT_POSSIBLE`, `UNSAFE_FILE`
 */
export async function planUninstall(files: readonly FilePlace[], env: Environment): Promise<Plan> {
  return await plan(files, env, async ({ without }) => ({ after: without, receipt: undefined }));
}

/** Changes to files that are still to be made. */
export interface Plan {
  readonly changes: readonly FileChange[];
  /** The files of `changes` that have something of rkat afterwards. */
  readonly receipts: Receipts;
}

type FilePlace = Pick<AgentFile, "root" | "path" | "isOwn">;

/**
 * The file that a path of your own leads to, if a part of it is a link. Links in a repository are not followed: they may
 * lead anywhere.
 *
 * @throws SessionError `UNSAFE_FILE` when it leads to nothing
 */
function followed<File extends FilePlace>(file: File): File {
  if (!file.isOwn) return file;
  const missing: string[] = [];
  let there = file.path;
  while (!lstatSync(there, { throwIfNoEntry: false }) && dirname(there) !== there) {
    missing.unshift(basename(there));
    there = dirname(there);
  }
  let real: string;
  try {
    real = realpathSync(there);
  } catch {
    throw new SessionError("UNSAFE_FILE", {
      detail: `${there} is a link that leads to nothing.`,
      hint: "Nothing was written. Make what it leads to, or remove the link, and run the command again.",
    });
  }
  const path = join(real, ...missing);
  if (path === file.path) return file;
  const root = statSync(file.root, { throwIfNoEntry: false }) ? realpathSync(file.root) : file.root;
  const isBelow = path.startsWith(root + sep);
  return { ...file, path, root: isBelow ? root : missing.length > 0 ? real : dirname(path) };
}

/**
 * A file that is read-only belongs to a program that writes it anew, such as home-manager: what rkat writes there would be
 * lost, or could not be written.
 *
 * @throws SessionError `NOT_POSSIBLE`
 */
function requireWritable({ file: { path }, named }: FileChange): void {
  const found = statSync(path, { throwIfNoEntry: false });
  let folder = dirname(path);
  while (!statSync(folder, { throwIfNoEntry: false }) && dirname(folder) !== folder)
    folder = dirname(folder);
  const leads = path === named ? "" : `, to which ${named} leads`;
  if (
    (found && (found.mode & 0o222) === 0) ||
    !isWritable(found ? path : folder) ||
    !isWritable(folder)
  ) {
    throw new SessionError("NOT_POSSIBLE", {
      message: `${path}${leads} cannot be changed: it is read-only.`,
      hint: "Nothing was written. If another program writes that file, such as home-manager, add there what `--print` shows.",
    });
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function missingFolders({ root, path }: FilePlace): number {
  const folder = dirname(path);
  if (folder === root || lookAt(root, folder)) return 0;
  return 1 + missingFolders({ root, path: folder });
}

interface Found<File> {
  readonly file: File;
  /** The file without what rkat put into it. */
  readonly without: string | undefined;
  readonly receipt: Receipt | undefined;
  /** Its permissions. */
  readonly mode: number | undefined;
}

async function plan<File extends FilePlace>(
  files: readonly File[],
  env: Environment,
  next: (found: Found<File>) => Promise<{
    readonly after: string | undefined;
    readonly receipt: Receipt | undefined;
  }>,
): Promise<Plan> {
  const known = readReceipts(env);
  const receipts: Record<string, Receipt> = {};
  const changes: FileChange[] = [];
  for (const named of files) {
    const file = followed(named);
    const { path } = file;
    const receipt = known[path];
    const before = textOf(file);
    try {
      // Bytes that are no UTF-8 would be written as other ones.
      if (before?.includes("\uFFFD") && !isUtf8(readFileSync(path)))
        throw new UnchangeableText("it is not UTF-8");
      const without = await withoutReceipt(before, receipt);
      const found = statSync(path, { throwIfNoEntry: false });
      const mode = found && found.mode & 0o777;
      const result = await next({ file, without, receipt, mode });
      if (result.receipt) receipts[path] = result.receipt;
      const folders = (result.receipt ?? receipt)?.madeFolders ?? 0;
      // Permissions that you changed meanwhile stay.
      const isGivenBack = !result.receipt && mode === PRIVATE && receipt?.mode !== undefined;
      const kept = isGivenBack
        ? { mode: receipt.mode }
        : result.receipt || mode === undefined
          ? {}
          : { mode };
      changes.push({
        file,
        named: named.path,
        folders,
        before,
        after: result.after,
        ...kept,
        ...given({ formerMode: mode }),
      });
    } catch (error) {
      if (!(error instanceof UnchangeableText)) throw error;
      throw new SessionError("NOT_POSSIBLE", {
        message: `${path} cannot be changed: ${error.message}.`,
        hint: "Nothing was written. Change the file, and run the command again.",
      });
    }
  }
  return { changes, receipts };
}

/** @throws SessionError `UNSAFE_FILE`: what is no file of yours in a project is to be removed, and in your home it is not */
function textOf({ root, path, isOwn }: FilePlace): string | undefined {
  try {
    return readSmallFile(root, path, FILE_BYTES_MAX);
  } catch (error) {
    if (!isOwn || !(error instanceof SessionError)) throw error;
    throw new SessionError(error.code, {
      message: error.message,
      hint: "Nothing was written. rkat changes only regular files of yours. Run it as the user whose files these are.",
      cause: error,
    });
  }
}

/** The file as it was, if rkat was the last to change it; otherwise without the remaining text of rkat. */
async function withoutReceipt(
  text: string | undefined,
  receipt: Receipt | undefined,
): Promise<string | undefined> {
  if (text === undefined || !receipt) return text;
  const { sha256, insertions } = receipt;
  const made = receipt.madeFolders !== undefined;
  if (hash("sha256", text) === sha256) {
    return made ? undefined : beforeInsertions(text, insertions);
  }
  const rest = await withoutContent(text, receipt);
  return made && /^[\s{}]*$/.test(rest) ? undefined : rest;
}

const PRIVATE = 0o600;

/**
 * Writes the planned changes, all or none. Each file is written whole or not at all. While rkat is in it, it is private to
 * you; afterwards it has its former permissions.
 *
 * @throws SessionError `NOT_POSSIBLE`
 */
export function carryOut({ changes, receipts }: Plan, env: Environment): void {
  const open = changes.filter(({ before, after }) => before !== after);
  open.forEach(requireWritable);
  open.forEach(requireUnchanged);
  const former = readReceipts(env);
  const done: FileChange[] = [];
  try {
    // The receipts come first. If the process is killed between, they name missing files, which does no harm.
    const ours = new Set(changes.map(({ file }) => file.path));
    const others = Object.entries(former).filter(([path]) => !ours.has(path));
    writeReceipts({ ...Object.fromEntries(others), ...receipts }, env);
    for (const change of open) {
      done.push(change);
      write(change);
    }
    // The compiled code of the hooks until now: see `bin/rkat.js`.
    const code = join(receiptsFile(env).folder, "hooks", "code");
    if (open.length > 0) rmSync(code, { recursive: true, force: true });
  } catch (error) {
    // The last one, which failed, is then the first.
    for (const change of done.reverse()) takeBack(change);
    takeBack({ write: () => writeReceipts(former, env) });
    throw new SessionError("NOT_POSSIBLE", {
      message: `${done[0]?.file.path ?? "The list of what is installed"} cannot be written: ${errorText(error)}`,
      hint: "Nothing was changed.",
      cause: error,
    });
  }
}

/** Another program, or another `rkat install`, may have written since the file was read. */
function requireUnchanged({ file: { root, path }, before }: FileChange): void {
  try {
    if (readSmallFile(root, path, FILE_BYTES_MAX) === before) return;
  } catch {
    // The write says what stands in its place.
    return;
  }
  throw new SessionError("NOT_POSSIBLE", {
    message: `${path} was changed meanwhile.`,
    hint: "Nothing was written. Run the command again.",
  });
}

function write({ file: { root, path }, folders, after, mode = PRIVATE }: FileChange): void {
  if (after === undefined) {
    rmSync(path, { force: true });
    removeEmptyFolders(dirname(path), folders);
    return;
  }
  makeFolders(root, 0o700);
  if (dirname(path) !== root) makeFolder(root, dirname(path));
  replaceFile(root, path, after);
  if (mode !== PRIVATE) chmodSync(path, mode);
}

/** A change that cannot be taken back stays: the first failure is the one to tell. */
function takeBack(change: FileChange | { write(): void }): void {
  try {
    if ("write" in change) change.write();
    else write({ ...change, after: change.before, ...given({ mode: change.formerMode }) });
  } catch {
    // It was not written in the first place.
  }
}

function removeEmptyFolders(folder: string, count: number): void {
  if (count === 0) return;
  try {
    rmdirSync(folder);
  } catch {
    // Something else is in it by now.
    return;
  }
  removeEmptyFolders(dirname(folder), count - 1);
}

const RECEIPTS_BYTES_MAX = 4 * 1024 * 1024;

/** @throws SessionError `NOT_POSSIBLE` without a home */
function receiptsFile(env: Environment): { readonly folder: string; readonly file: string } {
  const folder = ownFolder(env) ?? requireHome(env);
  return { folder, file: join(folder, "installed.json") };
}

function readReceipts(env: Environment): Receipts {
  const { folder, file } = receiptsFile(env);
  const text = readSmallFile(folder, file, RECEIPTS_BYTES_MAX);
  if (text === undefined) return {};
  const found = parsedJson(text);
  if (isObject(found) && Object.values(found).every(isReceipt)) return found as unknown as Receipts;
  throw new SessionError("NOT_POSSIBLE", {
    message: `${file} is damaged, so rkat does not know what it installed.`,
    hint: "Remove that file, and remove rkat from the settings of your agents by hand.",
  });
}

function isReceipt(value: unknown): boolean {
  return isObject(value) && isObject(value.added) && Array.isArray(value.insertions);
}

function writeReceipts(receipts: Receipts, env: Environment): void {
  const { folder, file } = receiptsFile(env);
  if (Object.keys(receipts).length === 0) {
    if (!lookAt(folder, file)) return;
    rmSync(file);
    removeEmptyFolders(folder, 1);
    return;
  }
  makeFolders(folder, 0o700);
  replaceFile(folder, file, `${JSON.stringify(receipts, null, 2)}\n`);
}
