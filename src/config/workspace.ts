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
import { shellWord } from "../text/shell-word.ts";
import type { Config } from "./config.ts";
import {
  findProject,
  homeFolder,
  isHome,
  isYours,
  keepingProblem,
  namedBy,
  requireHome,
  SET_HOME,
  userConfigFile,
} from "./config-places.ts";
import { loadConfig } from "./load-config.ts";
import { type Environment, TRUST_VARIABLE, USER_VARIABLE } from "./read-variables.ts";
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
  /** The `.rkat` folder. It may not exist yet. */
  readonly dataFolder: string;
  readonly storeFile: string;
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
  const dataFolder = join(folder, ".rkat");
  const files = {
    ...given({ user: reachableConfigFile(env) }),
    project: settingsFile({ dataFolder }),
  };
  const places = { folder, dataFolder, storeFile: join(dataFolder, "rkat.db") };
  const trusted = trustIn(places, env);
  if (trusted.settings || trusted.store) noteFolder(places, env);
  const { config, problem, notes } = await loadConfig({
    ...given({ userFile: files.user }),
    projectFile: files.project,
    isTrusted: trusted.settings,
    ...given({ store }),
    env,
  });
  const storeAddress = store ?? config.get("store");
  const workspace = { ...places, storeAddress, files, user, config, notes, trust: trusted };
  return { workspace, problem };
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
 * The folder whose store takes a session that was held in `project`: that project's, if you trust its
 * `.rkat`, and otherwise your home folder, with the user-wide store. Undefined if there is neither. Open it as a
 * workspace.
 */
export function folderForImport(project: string | undefined, env: Environment): string | undefined {
  const home = homeFolder(env);
  if (project === undefined || !isAbsolute(project)) return home;
  const folder = findProject(project, env);
  const dataFolder = join(folder, ".rkat");
  if (!isYours(dataFolder)) return home;
  const storeFile = join(dataFolder, "rkat.db");
  const trusted = trustIn({ folder, dataFolder, storeFile }, env);
  return (lookAtFile(folder, storeFile) ? trusted.store : trusted.settings) ? folder : home;
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
export function makeStore(workspace: Workspace, env: Environment): void {
  makeDataFolder(workspace, env);
  const { folder, storeFile } = workspace;
  if (!lookAtFile(folder, storeFile)) {
    // Trust comes first, because another process may open the store at once.
    // A name that no repository can guess: the file must be the one that is made here.
    const unseen = `${storeFile}.${crypto.randomUUID()}.new`;
    makeFile(folder, unseen, "");
    if (!trust("store", unseen, workspace, env)) markAsMadeHere(workspace, unseen);
    publish(unseen, storeFile);
  }
  requireTrustedStore(workspace, env);
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
function requireTrustedStore(workspace: Workspace, env: Environment): void {
  const { storeFile } = workspace;
  lookAtStore(storeFile);
  if (!trustIn(workspace, env).store) {
    throw storeNotTrusted(workspace, env);
  }
  const foreign = ["-wal", "-journal"].map((end) => storeFile + end).find(isForeign(workspace));
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
