import { existsSync, statSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { SessionError } from "../core/errors.ts";
import { given } from "../core/fields.ts";
import type { Capability } from "../core/operations/operation.ts";
import { lookAtFile } from "../files/plain-files.ts";
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
  namedBy,
  requireHome,
  userConfigFile,
} from "./config-places.ts";
import { type Environment, USER_VARIABLE } from "./config-source.ts";
import { loadConfig } from "./load-config.ts";
import type { SettingKey } from "./settings.ts";
import { noteFolder, settingsFile, type Trust, type TrustedPlaces, trustIn } from "./trust.ts";

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

function refuseFile(folder: string): void {
  // An empty name, such as a script's unset variable, would be the folder of the command.
  const isFolder = folder !== "" && statSync(folder, { throwIfNoEntry: false })?.isDirectory();
  if (isFolder !== false) return;
  throw new SessionError("INVALID_PARAMS", {
    message: folder === "" ? "The folder's name is empty." : `${folder} is not a folder.`,
    hint: "Name the project's folder with --dir.",
  });
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
  if (dir !== undefined) refuseFile(dir && folder);
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
  const storeAddress = config.get("store");
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

/**
 * For a command that has nothing to do without a store, and whose answer would say that all is well.
 *
 * @throws SessionError `NOT_POSSIBLE`
 */
export function requireStore(workspace: Workspace): void {
  if (hasStore(workspace)) return;
  throw new SessionError("NOT_POSSIBLE", {
    message: `There is no store at ${workspace.storePlace.storeFile}.`,
    hint: "Name the project's folder with --dir.",
  });
}

const SETTING_OF = {
  "session-store": "capabilities.session_store",
  "memory-store": "capabilities.memory_store",
  "session-compaction": "capabilities.session_compaction",
} as const satisfies Record<Capability, SettingKey>;

export function hasCapability(config: Config, capability: Capability): boolean {
  return config.get(SETTING_OF[capability]);
}
