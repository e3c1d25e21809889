import { hash } from "node:crypto";
import { rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { ownFolder, requireHome } from "../config/config-places.ts";
import { SessionError } from "../core/errors.ts";
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
  /** No link is followed below this folder. */
  readonly root: string;
  readonly path: string;
  readonly content: Content;
}

/** A file before and after a change. `undefined` where there is no file. */
export interface FileChange {
  readonly file: FilePlace;
  /** Folders to remove with the file, if they are empty then. */
  readonly folders: number;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** The record of a change to a file, so that it can be undone. */
interface Receipt extends Pick<ChangedText, "insertions" | "added"> {
  /** The hash of the file as rkat wrote it. */
  readonly sha256: string;
  /** The number of folders that were made for the file. Set if there was no file before. */
  readonly madeFolders?: number;
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
  return await plan(files, env, async ({ file, without, receipt }) => {
    const changed = await withContent(without, file.content);
    const { text: after, insertions, added } = changed;
    const isOurs = insertions.length > 0 || added.kind === "whole";
    if (!isOurs) return { after, receipt: undefined };
    const made =
      without === undefined ? { madeFolders: receipt?.madeFolders ?? missingFolders(file) } : {};
    return { after, receipt: { sha256: hash("sha256", after), ...made, insertions, added } };
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
  readonly receipts: Receipts;
}

type FilePlace = Pick<AgentFile, "root" | "path">;

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
}

async function plan<File extends FilePlace>(
  files: readonly File[],
  env: Environment,
  next: (found: Found<File>) => Promise<{
    readonly after: string | undefined;
    readonly receipt: Receipt | undefined;
  }>,
): Promise<Plan> {
  const receipts: Record<string, Receipt> = { ...readReceipts(env) };
  const changes: FileChange[] = [];
  for (const file of files) {
    const { root, path } = file;
    const receipt = receipts[path];
    const before = readSmallFile(root, path, FILE_BYTES_MAX);
    try {
      const without = await withoutReceipt(before, receipt);
      const result = await next({ file, without, receipt });
      delete receipts[path];
      if (result.receipt) receipts[path] = result.receipt;
      const folders = receipt?.madeFolders ?? 0;
      changes.push({ file, folders, before, after: result.after });
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

/** Writes the planned changes. Each file is written whole or not at all, and is private to you. */
export function carryOut({ changes, receipts }: Plan, env: Environment): void {
  const open = changes.filter(({ before, after }) => before !== after);
  // The receipts come first. If the process is killed between, they name missing files, which does no harm.
  writeReceipts(receipts, env);
  for (const { file, folders, after } of open) {
    const { root, path } = file;
    if (after === undefined) {
      rmSync(path, { force: true });
      removeEmptyFolders(dirname(path), folders);
      continue;
    }
    makeFolders(root, 0o700);
    if (dirname(path) !== root) makeFolder(root, dirname(path));
    replaceFile(root, path, after);
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
  try {
    return JSON.parse(text) as Receipts;
  } catch {
    throw new SessionError("NOT_POSSIBLE", {
      message: `${file} is damaged, so rkat does not know what it installed.`,
      hint: "Remove that file, and remove rkat from the settings of your agents by hand.",
    });
  }
}

function writeReceipts(receipts: Receipts, env: Environment): void {
  const { folder, file } = receiptsFile(env);
  if (Object.keys(receipts).length === 0) {
    if (lookAt(folder, file)) rmSync(file);
    return;
  }
  makeFolders(folder, 0o700);
  replaceFile(folder, file, `${JSON.stringify(receipts, null, 2)}\n`);
}
