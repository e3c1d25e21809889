import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Capability } from "../core/capabilities.ts";
import type { SessionError } from "../core/errors.ts";
import type { Config } from "./config.ts";
import { findProject, userConfigFile } from "./config-places.ts";
import { loadConfig } from "./load-config.ts";
import type { SettingKey } from "./settings.ts";

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
  const { config, problem, notes } = await loadConfig({
    userFile: files.user,
    projectFile: files.project,
    env,
  });
  const storeFile = join(dataFolder, "rkat.db");
  return { workspace: { folder, dataFolder, storeFile, files, config, notes }, problem };
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

/** Makes `.rkat`, private and kept out of git; leaves what is there alone. Returns what it made. */
export function makeDataFolder(dataFolder: string): readonly string[] {
  const made: string[] = [];
  if (!existsSync(dataFolder)) {
    mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
    made.push(dataFolder);
  }
  const ignore = join(dataFolder, ".gitignore");
  if (!existsSync(ignore)) {
    writeFileSync(ignore, GITIGNORE, { flag: "wx", mode: 0o600 });
    made.push(ignore);
  }
  return made;
}
