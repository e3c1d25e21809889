import { join, resolve } from "node:path";
import { type PartFile, type PartName, writeBackup } from "../backup/backup-file.ts";
import { hasUserStore } from "../config/config-places.ts";
import type { SearchScope } from "../config/settings.ts";
import { requireTrustedStore } from "../config/store-file.ts";
import { ownKey } from "../config/trust.ts";
import { hasStore, openUserWorkspace, type Workspace } from "../config/workspace.ts";
import { SessionError } from "../core/errors.ts";
import type { Stores } from "../core/stores.ts";
import { writeNewFile } from "../files/new-file.ts";
import { examineStore } from "./examine.ts";
import { storeName } from "./open-stores.ts";

/** The step of a backup, and how much of it is done, in bytes, pages or entries. */
export interface BackupProgress {
  readonly step:
    | "copying"
    | "checking"
    | "writing"
    | "reading"
    | "comparing"
    | "exporting"
    | "importing";
  readonly done: number;
}

export interface BackupWork {
  readonly scope: SearchScope;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: BackupProgress) => void;
}

export interface BackupReport {
  readonly file: string;
  readonly bytes: number;
  readonly made_at: string;
  /** The stores in it: which, and where they are. */
  readonly stores: readonly { readonly name: PartName; readonly place: string }[];
}

/** A store that a backup has, or that takes what a backup has. */
export interface BackupPlace {
  readonly name: PartName;
  readonly workspace: Workspace;
}

/**
 * Writes a backup of the project's store and of the user-wide one into `file`: each as it is at one moment, with its
 * users, its trash and all that was learned, while others go on writing. It is checked before it gets its name.
 *
 * @throws SessionError `NOT_POSSIBLE` when the file is there already, or there is no store
 * @throws SessionError `SESSION_STORE_ERROR` when the copy of a store is damaged
 */
export async function backUp(
  workspace: Workspace,
  { file, force, ...work }: BackupWork & { readonly file: string; readonly force: boolean },
): Promise<BackupReport> {
  const path = resolve(file);
  const places = await placesToBackUp(workspace, work.scope);
  const madeAt = new Date();
  const key = ownKey(process.env);
  const bytes = await writeNewFile(path, force, async (unseen, folder) => {
    const parts: PartFile[] = [];
    for (const place of places) {
      const copy = join(folder, `${place.name}.db`);
      await copyOf(place.workspace, copy, work);
      await requireSound(copy, work);
      parts.push({ name: place.name, file: copy });
    }
    const { signal, onProgress } = work;
    let done = 0;
    return await writeBackup(unseen, parts, {
      key,
      madeAt,
      signal,
      onProgress: (more) => {
        done += more;
        onProgress({ step: "writing", done });
      },
    });
  });
  const stores = places.map(({ name, workspace: own }) => ({ name, place: storeName(own) }));
  return { file: path, bytes, made_at: madeAt.toISOString(), stores };
}

/** The stores of a scope, with those that only some backups have. */
export async function backupPlaces(
  workspace: Workspace,
  scope: SearchScope,
): Promise<readonly BackupPlace[]> {
  if (workspace.user !== undefined) {
    throw new SessionError("INVALID_PARAMS", {
      message: "Backups and exports have the sessions of all users.",
      hint: "Leave --user out, and RKAT_USER empty.",
    });
  }
  const { folder, storeFile, storeAddress } = workspace;
  const library = await openUserWorkspace({ cwd: folder, env: process.env }).catch((error) => {
    if (scope === "user") throw error;
    return undefined;
  });
  // In your home folder both are the same.
  const isLibrary = storeAddress === undefined && library?.storeFile === storeFile;
  const own = scope === "user" || isLibrary ? [] : [{ name: "project" as const, workspace }];
  const others =
    library && (scope !== "project" || isLibrary)
      ? [{ name: "user" as const, workspace: library }]
      : [];
  return [...own, ...others];
}

export async function placesToBackUp(
  workspace: Workspace,
  scope: SearchScope,
): Promise<readonly BackupPlace[]> {
  const places = await backupPlaces(workspace, scope);
  const found = places.filter(({ workspace: own }) => hasStore(own));
  const [missing] = places.filter((place) => !found.includes(place));
  // A user-wide store that was never made is no reason to stop.
  if (missing && (missing.name === "project" || found.length === 0)) {
    throw new SessionError("NOT_POSSIBLE", {
      message: `There is no store at ${missing.workspace.storeFile}.`,
      hint: hasUserStore(process.env)
        ? "Name the project's folder with --dir, or back up the user-wide store with --scope user."
        : "Name the project's folder with --dir.",
    });
  }
  return found;
}

/** Copies a store, as it is at one moment, into a new SQLite file. */
export async function copyOf(workspace: Workspace, to: string, work: BackupWork): Promise<void> {
  const { signal, onProgress } = work;
  const { copyStore, settleStore } = await import("../stores/sqlite/copy-store.ts");
  const copying = (done: number) => onProgress({ step: "copying", done });
  if (workspace.storeAddress === undefined) {
    requireTrustedStore(workspace.storePlace, process.env);
    await copyStore(workspace.storeFile, to, { signal, onProgress: copying });
  } else {
    await withSnapshot(workspace.storeAddress, async (from) => {
      const { moveStores } = await import("../moving/move-stores.ts");
      const { sqliteStores } = await import("../stores/sqlite/sqlite-stores.ts");
      const stores = sqliteStores({ path: to });
      try {
        await moveStores(from, stores, { signal, onProgress: copying });
      } finally {
        await stores.close();
      }
    });
  }
  settleStore(to);
}

/** Works with the stores of a namespace on PostgreSQL, as they are at one moment. */
async function withSnapshot(
  address: string,
  work: (stores: Stores) => Promise<void>,
): Promise<void> {
  const { postgresAddress } = await import("../stores/postgres/server-address.ts");
  const { postgresStores } = await import("../stores/postgres/postgres-stores.ts");
  const { openSnapshotPool } = await import("../stores/postgres/snapshot-pool.ts");
  const { connectionString, notify: _, partitions: __, ...place } = postgresAddress(address);
  // The tables are made, or brought to this version, before: a snapshot is only read.
  const ready = postgresStores({ connectionString, ...place });
  try {
    const users = await ready.users();
    // Entries that wait go into the index, which a snapshot only reads.
    for (const { memory } of [ready, ...users.map((user) => ready.forUser(user))]) {
      await memory.stats();
    }
  } finally {
    await ready.close();
  }
  const pool = await openSnapshotPool(connectionString);
  const stores = postgresStores({ pool, ...place });
  try {
    await work(stores);
  } finally {
    await stores.close();
    await pool.end();
  }
}

/** @throws SessionError `SESSION_STORE_ERROR` when the copy of a store is damaged */
async function requireSound(copy: string, { signal, onProgress }: BackupWork): Promise<void> {
  const { settleStore } = await import("../stores/sqlite/copy-store.ts");
  const { sqliteStores } = await import("../stores/sqlite/sqlite-stores.ts");
  onProgress({ step: "checking", done: 0 });
  const problems = [...(await examineStore(copy))];
  if (problems.length === 0) {
    const stores = sqliteStores({ path: copy });
    try {
      const users = await stores.users();
      for (const { memory } of [stores, ...users.map((user) => stores.forUser(user))]) {
        signal.throwIfAborted();
        const check = await memory.verify({
          signal,
          onProgress: ({ done }) => onProgress({ step: "checking", done }),
        });
        problems.push(...check.problems);
      }
    } finally {
      await stores.close();
    }
  }
  settleStore(copy);
  const [problem] = problems;
  if (problem === undefined) return;
  throw new SessionError("SESSION_STORE_ERROR", {
    detail: `The store has a problem, so it was not backed up: ${problem.replace(/\.?$/, ".")}`,
    hint: "`rkat doctor` lists all problems, and `rkat repair` mends what can be made again.",
  });
}
