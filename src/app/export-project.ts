import { createReadStream } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { readExport } from "../backup/read-export.ts";
import { type ExportCounts, writeExport } from "../backup/write-export.ts";
import { TRUST_VARIABLE } from "../config/config-source.ts";
import { makeStore, needsTrust } from "../config/store-file.ts";
import { ownKey } from "../config/trust.ts";
import { hasCapability, hasStore, type Workspace } from "../config/workspace.ts";
import { SessionError } from "../core/errors.ts";
import { inWorkFolder, writeNewFile } from "../files/new-file.ts";
import { type BackupWork, copyOf, placesToBackUp } from "./back-up.ts";
import { openProjectService } from "./open-project-service.ts";
import { moveStore, storeName } from "./open-stores.ts";
import { useOpened } from "./opened.ts";

export { isExport } from "../backup/read-export.ts";
export type { ExportCounts } from "../backup/write-export.ts";

export interface ExportReport extends ExportCounts {
  readonly file: string;
  readonly bytes: number;
  readonly redacted: boolean;
}

export interface ImportedExport extends ExportCounts {
  readonly file: string;
  /** Where it is now; missing for a trial. */
  readonly place?: string;
}

/**
 * Writes all of a project, as it is at one moment, as JSON Lines into `file`: its sessions, memory and what it learned,
 * with its users, without deleted sessions. With `redact`, credentials are replaced.
 */
export async function exportProject(
  workspace: Workspace,
  {
    file,
    force,
    redact,
    ...work
  }: Omit<BackupWork, "scope"> & {
    readonly file: string;
    readonly force: boolean;
    readonly redact: boolean;
  },
): Promise<ExportReport> {
  const path = resolve(file);
  const [place] = await placesToBackUp(workspace, "project");
  const own = place?.workspace ?? workspace;
  const key = ownKey(process.env);
  await catchUp(own, "existing");
  const counts = await writeNewFile(path, force, async (unseen, folder) => {
    const copy = join(folder, "copy.db");
    await copyOf(own, copy, { ...work, scope: "project" });
    const { sqliteStores } = await import("../stores/sqlite/sqlite-stores.ts");
    const stores = sqliteStores({ path: copy });
    try {
      const { signal, onProgress } = work;
      return await writeExport(unseen, stores, {
        redact,
        key,
        signal,
        onProgress: (done) => onProgress({ step: "exporting", done }),
      });
    } finally {
      await stores.close();
    }
  });
  return { file: path, redacted: redact, ...counts };
}

/** The same, printed once it is whole. The report names no file. */
export async function printProject(
  workspace: Workspace,
  {
    output,
    ...how
  }: Omit<Parameters<typeof exportProject>[1], "file"> & { readonly output: Writable },
): Promise<ExportReport> {
  return await inWorkFolder(join(tmpdir(), "rkat-export"), async (folder) => {
    const file = join(folder, "export.jsonl");
    const report = await exportProject(workspace, { ...how, file });
    await pipeline(createReadStream(file, "utf8"), output, { end: false }).catch((error) => {
      // `rkat export - | head` closes the pipe early. That is not a failure.
      if (error.code !== "EPIPE") throw error;
    });
    return { ...report, file: "-" };
  });
}

/**
 * Adds what an export has to the store of a project, with the same ids, times and order. What is there stays, and what is
 * the same is there once. All of the file is read and checked before anything is added. A trial adds nothing.
 *
 * @throws SessionError `INVALID_PARAMS` for a file that is wrong, `SESSION_CONFLICT` for a session that went on in both
 * @throws SessionError `STORE_NOT_TRUSTED` for one that you did not write, unless it `isTrusted`
 */
export async function importExport(
  workspace: Workspace,
  {
    file,
    isTrusted,
    isTrial,
    signal,
    onProgress,
  }: Omit<BackupWork, "scope"> & {
    readonly file: string;
    readonly isTrusted: boolean;
    readonly isTrial: boolean;
  },
): Promise<ImportedExport> {
  requireNoUser(workspace);
  const key = ownKey(process.env);
  return await inWorkFolder(join(tmpdir(), "rkat-import"), async (folder) => {
    const copy = join(folder, "copy.db");
    const { sqliteStores } = await import("../stores/sqlite/sqlite-stores.ts");
    const stores = sqliteStores({ path: copy });
    const { isOwn, ...counts } = await readExport(file, stores, {
      key,
      signal,
      onProgress: (done) => onProgress({ step: "reading", done }),
    }).finally(() => stores.close());
    if (isTrial) return { file, ...counts };
    if (!isOwn && !isTrusted && process.env[TRUST_VARIABLE] !== "true") {
      throw needsTrust(`${file} was not written by you on this machine. Nothing was imported.`);
    }
    await add(workspace, copy, { signal, onProgress });
    return { file, ...counts, place: storeName(workspace) };
  });
}

/** Moves a store into that of the project, and makes memory and the rules of it. */
async function add(
  workspace: Workspace,
  copy: string,
  { signal, onProgress }: Omit<BackupWork, "scope">,
): Promise<void> {
  if (workspace.storeAddress === undefined) makeStore(workspace, process.env);
  // A store that has not learned from its own sessions takes nothing yet.
  await catchUp(workspace, "create");
  await moveStore(workspace, {
    from: copy,
    isTrusted: true,
    to: workspace.storeAddress ?? workspace.storeFile,
    signal,
    onProgress: (done) => onProgress({ step: "importing", done }),
  });
  signal.throwIfAborted();
  await catchUp(workspace, "create");
}

/** Whatever follows the log has come to its end. */
async function catchUp(workspace: Workspace, access: "existing" | "create"): Promise<void> {
  const { config } = workspace;
  if (!hasStore(workspace) || !hasCapability(config, "memory-store")) return;
  await useOpened(await openProjectService(workspace, access), async (service) => {
    await service.listMemory({ limit: 1 });
    if (config.get("knowledge.enabled")) await service.listKnowledge({ limit: 1 });
  });
}

function requireNoUser({ user }: Workspace): void {
  if (user === undefined) return;
  throw new SessionError("INVALID_PARAMS", {
    message: "An export has the sessions of all users.",
    hint: "Leave --user out, and RKAT_USER empty.",
  });
}
