import { hash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BackupFile, type PartName } from "../backup/backup-file.ts";
import { compareStores, isSame, type StoreDifferences } from "../backup/compare-stores.ts";
import { TRUST_VARIABLE } from "../config/config-source.ts";
import { makeDataFolder, needsTrust, placeStore, requireNoStore } from "../config/store-file.ts";
import { ownKey } from "../config/trust.ts";
import { hasCapability, type Workspace } from "../config/workspace.ts";
import { SessionError } from "../core/errors.ts";
import type { Stores } from "../core/stores.ts";
import { inWorkFolder } from "../files/new-file.ts";
import { type BackupPlace, type BackupWork, backupPlaces } from "./back-up.ts";
import { examineStore } from "./examine.ts";
import { openStores, storeName } from "./open-stores.ts";

export interface RestoreReport {
  readonly file: string;
  readonly made_at: string;
  readonly stores: readonly { readonly name: PartName; readonly place: string }[];
}

export interface CompareReport extends RestoreReport {
  readonly same: boolean;
  readonly differences: readonly NamedDifferences[];
}

interface NamedDifferences extends StoreDifferences {
  readonly store: PartName;
  readonly user?: string;
}

interface RestoreWork extends BackupWork {
  readonly file: string;
}

/**
 * Restores the stores of a backup where there are none. It reads all of the backup before it changes anything.
 *
 * @throws SessionError `INVALID_PARAMS` for a file that is no backup, or a damaged one
 * @throws SessionError `NOT_POSSIBLE` when something is there already
 * @throws SessionError `STORE_NOT_TRUSTED` for a backup that you did not write, unless it `isTrusted`
 */
export async function restoreBackup(
  workspace: Workspace,
  { isTrusted, ...work }: RestoreWork & { readonly isTrusted: boolean },
): Promise<RestoreReport> {
  const { backup, places } = await openBackup(workspace, work);
  const isOwn = backup.isSealedWith(ownKey(process.env));
  if (!isOwn && !isTrusted && process.env[TRUST_VARIABLE] !== "true") {
    throw needsTrust(`${backup.path} was not written by you on this machine.`);
  }
  for (const place of places) await requireEmpty(place);
  await backup.verify(reading(work));
  const isFile = ({ workspace: { storeAddress } }: BackupPlace) => storeAddress === undefined;
  // A database goes on where it was. So it is last, and the files get their names after it.
  const inOrder = [...places.filter(isFile), ...places.filter((place) => !isFile(place))];
  await restoreAll(backup, inOrder, work);
  await writeSessionFiles(places);
  return reportOf(backup, places);
}

/** Says how the stores differ from a backup. Changes nothing. */
export async function compareBackup(
  workspace: Workspace,
  work: RestoreWork,
): Promise<CompareReport> {
  const { backup, places } = await openBackup(workspace, work);
  await backup.verify(reading(work));
  const differences: NamedDifferences[] = [];
  for (const place of places) {
    await withPart(backup, place.name, work, async (copy) => {
      const here = await openStores(place.workspace, "existing");
      try {
        differences.push(...(await differencesOf(place.name, copy, here, work)));
      } finally {
        await here.close();
      }
    });
  }
  const same = differences.every(isNoDifference);
  return { ...reportOf(backup, places), same, differences };
}

const isNoDifference = ({ store: _, user: __, ...found }: NamedDifferences) => isSame(found);

async function differencesOf(
  store: PartName,
  copy: Stores,
  here: Stores,
  { signal, onProgress }: RestoreWork,
): Promise<readonly NamedDifferences[]> {
  let done = 0;
  const watch = {
    signal,
    onProgress: (entries: number) => {
      done += entries;
      onProgress({ step: "comparing", done });
    },
  };
  const found: NamedDifferences[] = [{ store, ...(await compareStores(copy, here, watch)) }];
  const users = new Set([...(await copy.users()), ...(await here.users())]);
  for (const user of users) {
    const own = await compareStores(copy.forUser(user), here.forUser(user), watch);
    found.push({ store, user, ...own });
  }
  return found;
}

async function openBackup(
  workspace: Workspace,
  { file, scope }: RestoreWork,
): Promise<{ readonly backup: BackupFile; readonly places: readonly BackupPlace[] }> {
  const backup = await BackupFile.open(file);
  const names = new Set(backup.manifest.parts.map(({ name }) => name));
  const places = (await backupPlaces(workspace, scope)).filter(({ name }) => names.has(name));
  if (places.length > 0) return { backup, places };
  const other = scope === "user" ? "project" : "user";
  throw new SessionError("INVALID_PARAMS", {
    message: `${file} has nothing for the ${scope === "user" ? "user-wide store" : "project"}.`,
    hint: `It has the ${names.has("user") ? "user-wide store" : "store of a project"}: pass --scope ${other}.`,
  });
}

/** Works with a part of a backup, in a private folder that is removed afterwards. */
async function withPart(
  backup: BackupFile,
  name: PartName,
  work: RestoreWork,
  use: (stores: Stores) => Promise<void>,
): Promise<void> {
  await inWorkFolder(join(tmpdir(), "rkat-restore"), async (folder) => {
    const copy = join(folder, `${name}.db`);
    await extract(backup, name, copy, work);
    const { sqliteStores } = await import("../stores/sqlite/sqlite-stores.ts");
    const stores = sqliteStores({ path: copy });
    try {
      await use(stores);
    } finally {
      await stores.close();
    }
  });
}

/** @throws SessionError `INVALID_PARAMS` when the part is damaged, or from a newer rkat */
async function extract(
  backup: BackupFile,
  name: PartName,
  copy: string,
  work: RestoreWork,
): Promise<void> {
  await backup.extract(name, copy, reading(work));
  work.onProgress({ step: "checking", done: 0 });
  const [problem] = await examineStore(copy);
  if (problem === undefined) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `The store in ${backup.path} cannot be used: ${problem.replaceAll(copy, "it")}`,
    hint: "Use another backup. Nothing was restored from this one.",
  });
}

/** No file gets its name before all others are complete: the same command can be run again if this one is stopped. */
async function restoreAll(
  backup: BackupFile,
  [place, ...others]: readonly BackupPlace[],
  work: RestoreWork,
): Promise<void> {
  if (!place) return;
  const next = () => restoreAll(backup, others, work);
  const { storeAddress } = place.workspace;
  if (storeAddress === undefined) return await restoreFile(backup, place, { ...work, next });
  await restoreDatabase(backup, place, storeAddress, work);
  await next();
}

async function restoreFile(
  backup: BackupFile,
  { name, workspace: { storePlace } }: BackupPlace,
  { next, ...work }: RestoreWork & { readonly next: () => Promise<void> },
): Promise<void> {
  makeDataFolder(storePlace, process.env);
  const { settleStore } = await import("../stores/sqlite/copy-store.ts");
  await inWorkFolder(storePlace.storeFile, async (folder) => {
    const unseen = join(folder, "store.db");
    await extract(backup, name, unseen, work);
    settleStore(unseen);
    await next();
    placeStore(storePlace, unseen, process.env);
  });
}

/**
 * Copies a part into a namespace of its own, which then gets the name that it is to have. If it is killed before, that
 * name has nothing, and the next restore of the same backup goes on.
 */
async function restoreDatabase(
  backup: BackupFile,
  { name }: BackupPlace,
  address: string,
  work: RestoreWork,
): Promise<void> {
  const { signal, onProgress } = work;
  const { moveStores } = await import("../moving/move-stores.ts");
  const { postgresAddress } = await import("../stores/postgres/server-address.ts");
  const { postgresStores } = await import("../stores/postgres/postgres-stores.ts");
  const { renameNamespace } = await import("../stores/postgres/rename-namespace.ts");
  const { namespace = "default", notify: _, ...place } = postgresAddress(address);
  const part = backup.manifest.parts.find((each) => each.name === name);
  const unseen = `being restored ${hash("sha256", `${part?.sha256} ${namespace}`)}`;
  await withPart(backup, name, work, async (copy) => {
    const to = postgresStores({ ...place, namespace: unseen });
    try {
      await moveStores(copy, to, {
        signal,
        onProgress: (done) => onProgress({ step: "copying", done }),
      });
    } finally {
      await to.close();
    }
    await renameNamespace(place, unseen, namespace);
  });
}

async function storesAtAddress(address: string): Promise<Stores> {
  const { postgresAddress } = await import("../stores/postgres/server-address.ts");
  const { postgresStores } = await import("../stores/postgres/postgres-stores.ts");
  return postgresStores(postgresAddress(address));
}

/** @throws SessionError `NOT_POSSIBLE` when something is there */
async function requireEmpty({
  workspace: { storeAddress, storePlace },
}: BackupPlace): Promise<void> {
  if (storeAddress === undefined) return requireNoStore(storePlace);
  const stores = await storesAtAddress(storeAddress);
  try {
    if (await isEmpty(stores)) return;
  } finally {
    await stores.close();
  }
  throw new SessionError("NOT_POSSIBLE", {
    message: "The database has something in this namespace. Nothing was restored over it.",
    hint: "Compare both with `rkat restore FILE --compare`. To use the backup, name another namespace in the address: ?namespace=NAME.",
  });
}

async function isEmpty({ events, memory, knowledge, trash, users }: Stores): Promise<boolean> {
  const found = await Promise.all([
    events.readAll(0, 1),
    memory.list({ limit: 1 }),
    knowledge.list({ limit: 1 }),
    trash?.events.readAll(0, 1) ?? [],
    users(),
  ]);
  return found.every(({ length }) => length === 0);
}

/** Projected files of the project's sessions are made again from its log. */
async function writeSessionFiles(places: readonly BackupPlace[]): Promise<void> {
  const { projectSessions } = await import("./project-sessions.ts");
  for (const { name, workspace } of places) {
    // With a database, each machine has its own files: the process that holds a session there writes them.
    if (name !== "project" || workspace.storeAddress !== undefined) continue;
    if (hasCapability(workspace.config, "session-store")) await projectSessions(workspace);
  }
}

function reading({ signal, onProgress }: RestoreWork) {
  let done = 0;
  return {
    signal,
    onProgress: (bytes: number) => {
      done += bytes;
      onProgress({ step: "reading", done });
    },
  };
}

function reportOf(
  { path, manifest: { made_at } }: BackupFile,
  places: readonly BackupPlace[],
): RestoreReport {
  const stores = places.map(({ name, workspace }) => ({ name, place: storeName(workspace) }));
  return { file: path, made_at, stores };
}
