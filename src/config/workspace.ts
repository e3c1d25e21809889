import { existsSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { SessionError } from "../core/errors.ts";
import { given } from "../core/fields.ts";
import type { Capability } from "../core/operations/operation.ts";
import { makeFolders } from "../files/make-folders.ts";
import {
  lookAt,
  lookAtFile,
  makeFile,
  makeFolder,
  publish,
  readText,
  replaceFile,
} from "../files/plain-files.ts";
import { redactPayments } from "../secrets/payment-numbers.ts";
import { shellWord } from "../text/quoting.ts";
import type { Config } from "./config.ts";
import {
  checkoutAround,
  findProject,
  folderInMain,
  type GitCheckout,
  homeFolder,
  isHome,
  isYours,
  keepingProblem,
  namedBy,
  requireHome,
  SET_HOME,
  userConfigFile,
} from "./config-places.ts";
import { type Environment, TRUST_VARIABLE, USER_VARIABLE } from "./config-source.ts";
import { loadConfig } from "./load-config.ts";
import type { SettingKey } from "./settings.ts";
import {
  markAsMadeHere,
  noteFolder,
  settingsFile,
  type Trust,
  type TrustedPlaces,
  trust,
  trustIn,
} from "./trust.ts";

/** The project of a command: the folder that `--dir` names, or the one around the current folder. */
export interface Workspace {
  readonly folder: string;
  /** The `.rkat` folder, with the settings. It may not exist yet. */
  readonly dataFolder: string;
  /** The store's file, which is in `storePlace`. */
  readonly storeFile: string;
  /** The project with the store: this one, or that of the main checkout if this is a worktree of git. */
  readonly storePlace: TrustedPlaces;
  /** What to do with a store that a worktree kept before, in words. */
  readonly leftStore: string | undefined;
  /** The address of a database that is used instead of the file. It may have a password in it. */
  readonly storeAddress: string | undefined;
  readonly files: ConfigFiles;
  /** The user that the command acts for, if it names one. */
  readonly user: string | undefined;
  readonly config: Config;
  /** Notes for the user about the settings. */
  readonly notes: readonly string[];
  readonly trust: Trust;
}

interface ConfigFiles {
  /** Missing without a home. */
  readonly user?: string;
  readonly project: string;
}

/** The surroundings in which a command runs. */
interface Surroundings {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** @throws SessionError `INVALID_CONFIG` */
export async function openWorkspace(
  surroundings: Surroundings,
  dir: string | undefined,
  user?: string,
  store?: string,
): Promise<Workspace> {
  const { workspace, problem } = await examineWorkspace(surroundings, dir, user, store);
  if (problem) throw problem;
  return workspace;
}

/** Like `openWorkspace`, but returns wrong settings as a problem instead of throwing. */
export async function examineWorkspace(
  { cwd, env }: Surroundings,
  dir: string | undefined,
  // An empty variable counts as none.
  user = env[USER_VARIABLE] || undefined,
  store?: string,
): Promise<{ readonly workspace: Workspace; readonly problem: SessionError | undefined }> {
  const folder = dir === undefined ? findProject(cwd, env) : resolve(cwd, dir);
  const { dataFolder } = placesIn(folder);
  const files = {
    ...given({ user: reachableConfigFile(env) }),
    project: settingsFile({ dataFolder }),
  };
  const own = placesIn(folder);
  const { settings, wasReplaced } = trustIn(own, env);
  const { config, problem, notes } = await loadConfig({
    ...given({ userFile: files.user }),
    projectFile: files.project,
    isTrusted: settings,
    ...given({ store }),
    wasTrusted: wasReplaced,
    env,
  });
  if (config.get("privacy.redact_payments")) redactPayments();
  const checkout = checkoutAround(folder);
  const storePlace = storePlaceOf(folder, checkout, config, env);
  // Settings are trusted in each worktree by itself. A store is trusted where it is.
  const trusted = { settings, store: trustIn(storePlace, env).store };
  for (const places of new Set([own, storePlace])) {
    if (trusted.settings || trusted.store) noteFolder(places, env);
  }
  const storeAddress = store ?? config.get("store");
  const leftStore = leftStoreNote(own, storePlace);
  const workspace = {
    folder,
    dataFolder,
    storeFile: storePlace.storeFile,
    storePlace,
    storeAddress,
    files,
    user,
    config,
    leftStore,
    notes: [...notes, ...(leftStore === undefined ? [] : [leftStore])],
    trust: trusted,
  };
  return { workspace, problem };
}

function placesIn(folder: string): TrustedPlaces {
  const dataFolder = join(folder, ".rkat");
  return { folder, dataFolder, storeFile: join(dataFolder, "rkat.db") };
}

/**
 * Where the store of a folder is. The worktrees of a repository share one, so that what was said outlives the
 * worktree in which it was said. The home folder has the user-wide store, which is no project's.
 */
function storePlaceOf(
  folder: string,
  checkout: GitCheckout | undefined,
  config: Config,
  env: Environment,
): TrustedPlaces {
  const isShared =
    checkout?.isLinked &&
    config.get("sessions.worktrees") === "shared" &&
    !isHome(folder, env) &&
    !isHome(checkout.main, env);
  return placesIn(isShared ? folderInMain(folder, checkout) : folder);
}

/** A worktree that kept a store of its own before has words in it that are found nowhere else. */
function leftStoreNote(own: TrustedPlaces, { storeFile }: TrustedPlaces): string | undefined {
  if (own.storeFile === storeFile || !existsSync(own.storeFile)) return undefined;
  const move = `rkat move --from ${shellWord(own.storeFile)} --to ${shellWord(storeFile)}`;
  return `This worktree uses the store of its repository, ${storeFile}. It also has a store of its own, ${own.storeFile}, which is not searched. To add that to the shared one, run \`${move}\` and remove the file. To keep them apart, set worktrees = "apart" under [sessions].`;
}

/** The user's own file, unless it is in the home of another user, or nowhere. */
function reachableConfigFile(env: Environment): string | undefined {
  const file = userConfigFile(env);
  if (file === undefined || namedBy(env) !== undefined) return file;
  try {
    statSync(file, { throwIfNoEntry: false });
    return file;
  } catch {
    return undefined;
  }
}

/**
 * The folder whose store takes a session that was held in `project`: that project's or its repository's, if you trust
 * its `.rkat`, and otherwise your home folder, with the user-wide store. Undefined if there is neither. Open it as a
 * workspace.
 */
export async function folderForImport(
  project: string | undefined,
  env: Environment,
): Promise<string | undefined> {
  const home = homeFolder(env);
  if (project === undefined || !isAbsolute(project)) return home;
  const folder = findProject(project, env);
  const shared = checkoutAround(folder)?.isLinked ? await storeFolderOf(folder, env) : folder;
  return [folder, shared].find((each) => takesImports(each, env)) ?? home;
}

async function storeFolderOf(folder: string, env: Environment): Promise<string> {
  const { workspace } = await examineWorkspace({ cwd: folder, env }, folder);
  return workspace.storePlace.folder;
}

/** Whether the folder has a `.rkat` that you trust. */
export function takesImports(folder: string, env: Environment): boolean {
  const places = placesIn(folder);
  if (!isYours(places.dataFolder)) return false;
  const trusted = trustIn(places, env);
  return lookAtFile(folder, places.storeFile) ? trusted.store : trusted.settings;
}

/**
 * The workspace of the user-wide store, which is a file. Nothing of a project has a part in it.
 *
 * @throws SessionError `NOT_POSSIBLE` without a home
 */
export async function openUserWorkspace(
  surroundings: Surroundings,
  user?: string,
): Promise<Workspace> {
  const workspace = await openWorkspace(surroundings, requireHome(surroundings.env), user);
  return { ...workspace, storeAddress: undefined };
}

/** Whether a project has a store: a database, or a file that was made. */
export function hasStore({
  storeAddress,
  storeFile,
}: Pick<Workspace, "storeAddress" | "storeFile">): boolean {
  return storeAddress !== undefined || existsSync(storeFile);
}

const SETTING_OF = {
  "session-store": "capabilities.session_store",
  "memory-store": "capabilities.memory_store",
  "session-compaction": "capabilities.session_compaction",
} as const satisfies Record<Capability, SettingKey>;

export function hasCapability(config: Config, capability: Capability): boolean {
  return config.get(SETTING_OF[capability]);
}

/** Git shows nothing of a `.rkat` that a command made on its way, not even this file. */
const IGNORES_ALL = `# The data of rkat is private to this machine.
*
`;

const IGNORES_DATA = `# The data of rkat is private to this machine. The configuration can be shared.
*
!.gitignore
!config.toml
`;

/**
 * Makes a private `.rkat` that git ignores, unless it exists. A folder that is made here is trusted.
 * With `isShared`, git does not ignore its configuration. Returns the paths that were made.
 *
 * @throws SessionError `UNSAFE_FILE`
 */
export function makeDataFolder(
  places: TrustedPlaces,
  env: Environment,
  { isShared = false } = {},
): readonly string[] {
  const { folder, dataFolder } = places;
  const made: string[] = [];
  if (!lookAt(folder, dataFolder)) {
    makeFolderOf(places, env);
    trust("folder", dataFolder, places, env);
    made.push(dataFolder);
  }
  const ignore = join(dataFolder, ".gitignore");
  if (makeFile(folder, ignore, isShared ? IGNORES_DATA : IGNORES_ALL)) made.push(ignore);
  else if (isShared && readText(folder, ignore) === IGNORES_ALL) {
    replaceFile(folder, ignore, IGNORES_DATA);
  }
  return made;
}

function makeFolderOf({ folder, dataFolder }: TrustedPlaces, env: Environment): void {
  try {
    makeFolders(folder);
    makeFolder(folder, dataFolder);
  } catch (error) {
    if (!isHome(folder, env) || SessionError.is(error)) throw error;
    const { message } = SessionError.from(error);
    throw new SessionError("SESSION_STORE_ERROR", { message, hint: SET_HOME, cause: error });
  }
}

/**
 * Makes an empty, trusted store, unless one exists.
 *
 * @throws SessionError `STORE_NOT_TRUSTED` when the existing store was not made here, `UNSAFE_FILE`
 */
export function makeStore({ storePlace }: Workspace, env: Environment): void {
  makeDataFolder(storePlace, env);
  const { folder, storeFile } = storePlace;
  if (!lookAtFile(folder, storeFile)) {
    // Trust comes first, because another process may open the store at once.
    // A name that no repository can guess: the file must be the one that is made here.
    const unseen = `${storeFile}.${crypto.randomUUID()}.new`;
    makeFile(folder, unseen, "");
    publishStore(storePlace, unseen, env);
  }
  requireTrustedStore(storePlace, env);
}

function publishStore(places: TrustedPlaces, unseen: string, env: Environment): void {
  if (!trust("store", unseen, places, env)) markAsMadeHere(places, unseen);
  publish(unseen, places.storeFile);
}

/**
 * Makes a complete store, at `unseen` below the same `.rkat`, the store of this place. It is trusted from then on.
 *
 * @throws SessionError `NOT_POSSIBLE` when there is a store, `UNSAFE_FILE`
 */
export function placeStore(places: TrustedPlaces, unseen: string, env: Environment): void {
  requireNoStore(places);
  const made = lookAtFile(places.folder, unseen);
  publishStore(places, unseen, env);
  // Another process may have made one a moment ago.
  if (lookAtFile(places.folder, places.storeFile)?.ino !== made?.ino) throw storeIsThere(places);
}

/** @throws SessionError `NOT_POSSIBLE` when there is a store, or a file that SQLite kept beside one */
export function requireNoStore(places: TrustedPlaces): void {
  for (const beside of ["", "-wal", "-shm", "-journal"]) {
    if (lookAtFile(places.folder, places.storeFile + beside)) throw storeIsThere(places);
  }
}

function storeIsThere({ storeFile }: TrustedPlaces): SessionError {
  return new SessionError("NOT_POSSIBLE", {
    message: `There is a store already: ${storeFile}. Nothing was restored over it.`,
    hint: `Compare both with \`rkat restore FILE --compare\`. To use the backup, move ${storeFile} and the files beside it away.`,
  });
}

/**
 * Checks the store's file and the files that SQLite keeps beside it.
 *
 * @throws SessionError `UNSAFE_FILE`
 */
export function lookAtStore(storeFile: string): void {
  const folder = dirname(dirname(storeFile));
  for (const beside of ["", "-wal", "-shm", "-journal"]) lookAtFile(folder, storeFile + beside);
}

/** The refusal of a store that was not made here. Its hint works from every folder. */
export function storeNotTrusted(
  { folder, storeFile }: TrustedPlaces,
  env: Environment,
): SessionError {
  const trusting = `\`rkat trust --dir ${shellWord(folder)}\``;
  const use =
    keepingProblem(env) === undefined
      ? `Run ${trusting} to use it`
      : `${SET_HOME.slice(0, -1)} and run ${trusting} to use it, or set ${TRUST_VARIABLE}=true for one command`;
  return new SessionError("STORE_NOT_TRUSTED", {
    detail: `It is ${storeFile}.`,
    hint: `It may come from a stranger. ${use}, or move it away to start with an empty one.`,
  });
}

/** @throws SessionError `STORE_NOT_TRUSTED`, `UNSAFE_FILE` */
export function requireTrustedStore(places: TrustedPlaces, env: Environment): void {
  const { storeFile } = places;
  lookAtStore(storeFile);
  if (!trustIn(places, env).store) {
    throw storeNotTrusted(places, env);
  }
  const foreign = ["-wal", "-journal"].map((end) => storeFile + end).find(isForeign(places));
  if (foreign === undefined) return;
  throw new SessionError("STORE_NOT_TRUSTED", {
    message: `${foreign} was not made by rkat: its permissions are not those of ${storeFile}.`,
    hint: "SQLite would read it into your store. Move it away if it came with the project. If it is yours, give it the permissions of the store.",
  });
}

/**
 * SQLite gives the files beside a store the permissions of the store, which is private. A file that
 * git wrote is readable by others.
 */
function isForeign({ folder, storeFile }: TrustedPlaces): (file: string) => boolean {
  return (file) => {
    const beside = lookAtFile(folder, file);
    return beside !== undefined && beside.mode !== lookAtFile(folder, storeFile)?.mode;
  };
}
