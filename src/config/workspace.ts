import { linkSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { SessionError } from "../core/errors.ts";
import type { Capability } from "../core/session-service.ts";
import { lookAt, lookAtFile, makeFile, makeFolder } from "../files/plain-files.ts";
import type { Config } from "./config.ts";
import { findProject, userConfigFile } from "./config-places.ts";
import { loadConfig } from "./load-config.ts";
import type { Environment } from "./read-variables.ts";
import type { SettingKey } from "./settings.ts";
import { type Trust, type TrustedPlaces, trust, trustIn } from "./trust.ts";

/** The project that a command works on: the folder that `--dir` names, or the one around the current folder. */
export interface Workspace {
  readonly folder: string;
  /** `.rkat` in it; not there before something is kept. */
  readonly dataFolder: string;
  readonly storeFile: string;
  readonly files: ConfigFiles;
  readonly config: Config;
  /** What the files say in other words than ours. */
  readonly notes: readonly string[];
  readonly trust: Trust;
}

interface ConfigFiles {
  readonly user: string;
  readonly project: string;
}

/** Where a command runs. */
interface Surroundings {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** @throws SessionError `INVALID_CONFIG` */
export async function openWorkspace(
  surroundings: Surroundings,
  dir: string | undefined,
): Promise<Workspace> {
  const { workspace, problem } = await examineWorkspace(surroundings, dir);
  if (problem) throw problem;
  return workspace;
}

/** The same, for who wants to see the settings although some are wrong. */
export async function examineWorkspace(
  { cwd, env }: Surroundings,
  dir: string | undefined,
): Promise<{ readonly workspace: Workspace; readonly problem: SessionError | undefined }> {
  const folder = dir === undefined ? findProject(cwd, env) : resolve(cwd, dir);
  const dataFolder = join(folder, ".rkat");
  const files = { user: userConfigFile(env), project: join(dataFolder, "config.toml") };
  const places = { folder, dataFolder, storeFile: join(dataFolder, "rkat.db") };
  const trusted = trustIn(places, env);
  const { config, problem, notes } = await loadConfig({
    userFile: files.user,
    projectFile: files.project,
    isTrusted: trusted.folder,
    env,
  });
  return { workspace: { ...places, files, config, notes, trust: trusted }, problem };
}

const SETTING_OF = {
  "session-store": "capabilities.session_store",
  "memory-store": "capabilities.memory_store",
  "session-compaction": "capabilities.session_compaction",
} as const satisfies Record<Capability, SettingKey>;

/** Whether the settings leave a capability on. */
export function hasCapability(config: Config, capability: Capability): boolean {
  return config.get(SETTING_OF[capability]);
}

const GITIGNORE = `# What rkat keeps here is private to this machine; the configuration is for everybody.
*
!.gitignore
!config.toml
`;

/**
 * Makes `.rkat`, private and kept out of git; leaves what is there alone. You trust what you make.
 * Returns what it made.
 *
 * @throws SessionError `UNSAFE_FILE`
 */
export function makeDataFolder(places: TrustedPlaces, env: Environment): readonly string[] {
  const { folder, dataFolder } = places;
  const made: string[] = [];
  if (!lookAt(folder, dataFolder)) {
    mkdirSync(folder, { recursive: true });
    makeFolder(folder, dataFolder);
    trust("folder", dataFolder, places, env);
    made.push(dataFolder);
  }
  const ignore = join(dataFolder, ".gitignore");
  if (makeFile(folder, ignore, GITIGNORE)) made.push(ignore);
  return made;
}

/**
 * Makes an empty store where there is none, and remembers that you made it.
 *
 * @throws SessionError `STORE_NOT_TRUSTED` for one that you did not make here, `UNSAFE_FILE`
 */
export function makeStore(workspace: Workspace, env: Environment): void {
  makeDataFolder(workspace, env);
  const { folder, storeFile } = workspace;
  if (!lookAtFile(folder, storeFile)) {
    // It is trusted before others can see it: another process may open it at once.
    const unseen = `${storeFile}.${process.pid}.new`;
    makeFile(folder, unseen, "");
    trust("store", unseen, workspace, env);
    makeVisible(unseen, storeFile);
  }
  requireTrustedStore(workspace, env);
}

/** Gives a file its name, unless another process was first. */
function makeVisible(unseen: string, file: string): void {
  try {
    linkSync(unseen, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(unseen, { force: true });
  }
}

/**
 * Looks at a store's file and at those that SQLite keeps beside it.
 *
 * @throws SessionError `UNSAFE_FILE`
 */
export function lookAtStore(storeFile: string): void {
  const folder = dirname(dirname(storeFile));
  for (const beside of ["", "-wal", "-shm", "-journal"]) lookAtFile(folder, storeFile + beside);
}

/** @throws SessionError `STORE_NOT_TRUSTED`, `UNSAFE_FILE` */
export function requireTrustedStore(workspace: Workspace, env: Environment): void {
  const { storeFile } = workspace;
  lookAtStore(storeFile);
  if (trustIn(workspace, env).store) return;
  throw new SessionError("STORE_NOT_TRUSTED", { detail: `It is ${storeFile}.` });
}
