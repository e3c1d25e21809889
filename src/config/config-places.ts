import { type BigIntStats, existsSync, lstatSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import type { Environment } from "./read-variables.ts";

/**
 * The project's folder: `start`, or the nearest folder above it with a `.rkat`.
 *
 * The search stops at the root of a git repository and below the home folder.
 * Otherwise a stray `.rkat` further up would capture every project.
 */
export function findProject(start: string, env: Environment): string {
  const first = resolve(start);
  const home = homeFolder(env);
  const homes = [home, existsSync(home) ? realpathSync(home) : home];
  for (let folder = first; ; folder = dirname(folder)) {
    const candidate = join(folder, ".rkat");
    if (folder === first ? existsSync(candidate) : isYours(candidate)) return folder;
    const isTop = dirname(folder) === folder || homes.includes(dirname(folder));
    if (isTop || existsSync(join(folder, ".git"))) return first;
  }
}

/** The user's own `config.toml`. */
export function userConfigFile(env: Environment, platform: string = process.platform): string {
  return join(configFolder(env, platform), "rkat", "config.toml");
}

function configFolder(env: Environment, platform: string): string {
  if (platform === "win32" && env.APPDATA) return env.APPDATA;
  const given = env.XDG_CONFIG_HOME;
  return given && isAbsolute(given) ? given : join(homeFolder(env), ".config");
}

/**
 * The user-wide store, `~/.rkat/rkat.db`. No setting names it, and no project can: only the
 * environment says where home is.
 */
export function userStoreFile(
  env: Readonly<Record<string, string | undefined>> = process.env,
): string {
  return join(homeFolder(env), ".rkat", "rkat.db");
}

export function homeFolder(env: Environment): string {
  return env.HOME || env.USERPROFILE || homedir();
}

/** Whether `folder` is the one of the user-wide store. */
export function isHome(folder: string, env: Environment): boolean {
  return resolve(folder) === resolve(homeFolder(env));
}

/** A path as you would type it: `~/src/app` below your home folder. */
export function shortPath(path: string, env: Environment): string {
  const home = `${resolve(homeFolder(env))}${sep}`;
  return path.startsWith(home) ? `~${sep}${path.slice(home.length)}` : path;
}

/** A folder above may belong to another user, and a link may lead anywhere. Both are skipped. */
export function isYours(path: string): boolean {
  const found = lookFrom(path);
  if (!found?.isDirectory()) return false;
  return process.getuid === undefined || found.uid === BigInt(process.getuid());
}

/** What is at a path, without following a link at its end. Undefined where a part of the way is no folder. */
export function lookFrom(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true });
  } catch {
    return undefined;
  }
}
