import { type BigIntStats, existsSync, lstatSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { SessionError } from "../core/errors.ts";
import { reading, record, requireArgument } from "../core/options.ts";
import { systemHome, writingProblem } from "../files/make-folders.ts";
import { readSmallFile } from "../files/plain-files.ts";
import { type Environment, HOME_VARIABLE } from "./config-source.ts";

export { systemHome } from "../files/make-folders.ts";

/**
 * The project's folder: `start`, or the nearest folder above it with a `.rkat`.
 *
 * The search stops at the root of a git repository and below the home folder.
 * Otherwise a stray `.rkat` further up would capture every project.
 */
export function findProject(start: string, env: Environment): string {
  const first = resolve(start);
  const homes = [systemHome(env), homeFolder(env)]
    .filter((home) => home !== undefined)
    .flatMap((home) => [home, existsSync(home) ? realpathSync(home) : home]);
  for (let folder = first; ; folder = dirname(folder)) {
    const candidate = join(folder, ".rkat");
    if (folder === first ? existsSync(candidate) : isYours(candidate)) return folder;
    const isTop = dirname(folder) === folder || homes.includes(dirname(folder));
    if (isTop || existsSync(join(folder, ".git"))) return first;
  }
}

/** The user's own `config.toml`. Undefined without a home. */
export function userConfigFile(
  env: Environment,
  platform: string = process.platform,
): string | undefined {
  const folder = ownFolder(env, platform);
  return folder && join(folder, "config.toml");
}

/**
 * The folder of your own files outside of projects: `config.toml`, your trust, your key. Undefined without
 * a home.
 */
export function ownFolder(
  env: Environment,
  platform: string = process.platform,
): string | undefined {
  const folder = configFolder(env, platform);
  return folder && join(folder, "rkat");
}

function configFolder(env: Environment, platform: string): string | undefined {
  const home = homeFolder(env);
  if (!env[HOME_VARIABLE]) {
    if (platform === "win32" && env.APPDATA) return env.APPDATA;
    const given = env.XDG_CONFIG_HOME;
    if (given && isAbsolute(given)) return given;
  }
  return home && join(home, ".config");
}

/** The variable that names the place of `ownFolder`. Undefined where it is below the home of the system's account. */
export function namedBy(env: Environment): string | undefined {
  const names = [HOME_VARIABLE, process.platform === "win32" ? "APPDATA" : "XDG_CONFIG_HOME"];
  return names.find((name) => isAbsolute(env[name] ?? ""));
}

/**
 * The user-wide store, `~/.rkat/rkat.db`. No setting names it, and no project can: only the
 * environment says where home is.
 *
 * @throws SessionError `NOT_POSSIBLE` without a home
 */
export function userStoreFile(
  env: Readonly<Record<string, string | undefined>> = process.env,
): string {
  requireArgument("the environment of userStoreFile", record, env);
  return reading("userStoreFile", () => storeFileIn(requireHome(env)));
}

/** Whether there is a user-wide store. */
export function hasUserStore(env: Environment): boolean {
  const home = homeFolder(env);
  return home !== undefined && existsSync(storeFileIn(home));
}

/**
 * The reason why the system's account has no place for a user-wide store, in one sentence. A folder that `RKAT_HOME` names is
 * taken at its word: if it cannot be used, the store says so.
 */
export function userStoreProblem(env: Environment): string | undefined {
  if (env[HOME_VARIABLE] || hasUserStore(env)) return undefined;
  const home = homeFolder(env);
  return home === undefined ? "There is no home folder." : writingProblem(home);
}

function storeFileIn(home: string): string {
  return join(home, ".rkat", "rkat.db");
}

/**
 * The folder of your own settings, trust and store: the one that `RKAT_HOME` names, or your home folder.
 * Undefined where the system knows none for you. The root is none: containers say so for an id without a name.
 *
 * @throws SessionError `INVALID_CONFIG` when the variable names no absolute path
 */
export function homeFolder(env: Environment): string | undefined {
  const given = env[HOME_VARIABLE];
  if (!given) {
    const home = systemHome(env);
    return dirname(home) === home ? undefined : home;
  }
  if (isAbsolute(given)) return given;
  throw new SessionError("INVALID_CONFIG", {
    message: `${HOME_VARIABLE} must be an absolute path, and is ${JSON.stringify(given)}.`,
    hint: `Set ${HOME_VARIABLE} to a folder that you can write, such as /data.`,
  });
}

/** @throws SessionError `NOT_POSSIBLE` without a home */
export function requireHome(env: Environment): string {
  const home = homeFolder(env);
  if (home !== undefined) return home;
  throw new SessionError("NOT_POSSIBLE", {
    message: "There is no home folder for what is yours.",
    hint: SET_HOME,
  });
}

/** The way out where a home is missing, or cannot be written. */
export const SET_HOME = `Set ${HOME_VARIABLE} to a folder that you can write.`;

/** Whether `folder` is the one of the user-wide store. */
export function isHome(folder: string, env: Environment): boolean {
  const home = homeFolder(env);
  return home !== undefined && resolve(folder) === resolve(home);
}

/** A path as you would type it: `~/src/app` below your home folder. */
export function shortPath(path: string, env: Environment): string {
  const home = `${resolve(systemHome(env))}${sep}`;
  return path.startsWith(home) ? `~${sep}${path.slice(home.length)}` : path;
}

/** A folder above may belong to another user, and a link may lead anywhere. Both are skipped. */
export function isYours(path: string): boolean {
  const found = lookFrom(path);
  if (!found?.isDirectory()) return false;
  return process.getuid === undefined || found.uid === BigInt(process.getuid());
}

/** The entry at a path, without following a link at its end. Undefined where a part of the path is no folder. */
export function lookFrom(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true });
  } catch {
    return undefined;
  }
}

/** The reason why nothing of yours can be kept outside of projects, in one sentence; undefined if it can. */
export function keepingProblem(env: Environment): string | undefined {
  const folder = ownFolder(env);
  return folder === undefined ? "There is no home folder." : writingProblem(folder);
}

/**
 * A folder that git checked out a branch into. Several worktrees may belong to one repository:
 *
 *     ~/app          /.git/                        the main checkout, with the common directory
 *                         worktrees/fix/gitdir     ─┐
 *     ~/app-fix      /.git                         ─┴ each names the other
 *
 * Git is not run, because a repository can name commands that git starts. No link is followed. A folder
 * counts as a worktree only if the repository names it too: a stranger's folder can name any repository.
 */
export interface GitCheckout {
  /** The folder with the `.git`. */
  readonly root: string;
  /** The folder whose `.rkat` all worktrees share: the main checkout, or a bare repository. */
  readonly main: string;
  /** Whether it is a worktree beside the main checkout. */
  readonly isLinked: boolean;
  /** The branch that is checked out, such as `fix/login`. */
  readonly branch: string | undefined;
}

/** The checkout around `folder`. Undefined outside of repositories, and where a part of one is not safe to read. */
export function checkoutAround(folder: string): GitCheckout | undefined {
  try {
    const root = rootAround(realpathSync(folder));
    return root === undefined ? undefined : checkoutAt(root);
  } catch {
    return undefined;
  }
}

/** The folder of the main checkout that has the store of `folder`: the nearest one with a `.rkat`, at the same place or above. */
export function folderInMain(folder: string, { root, main }: GitCheckout): string {
  for (let below = relative(root, realpathSync(folder)); ; below = dirname(below)) {
    const place = join(main, below);
    if (below === "" || below === "." || below.startsWith("..")) return main;
    if (isPlainFolder(place) && isYours(join(place, ".rkat"))) return place;
  }
}

function rootAround(start: string): string | undefined {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git"))) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

function checkoutAt(root: string): GitCheckout | undefined {
  const entry = join(root, ".git");
  if (isYours(entry)) return { root, main: root, isLinked: false, branch: branchIn(entry) };
  const own = namedIn(root, entry, /^gitdir: /);
  if (own === undefined || !isPlainFolder(own)) return undefined;
  const common = namedIn(own, join(own, "commondir"));
  // A submodule has a `.git` like a worktree, and is a repository of its own.
  if (common === undefined) return { root, main: root, isLinked: false, branch: branchIn(own) };
  const isWorktree =
    dirname(own) === join(common, "worktrees") &&
    isPlainFolder(common) &&
    namedIn(own, join(own, "gitdir")) === entry;
  if (!isWorktree) return undefined;
  return { root, main: mainOf(common), isLinked: true, branch: branchIn(own) };
}

const NAME_BYTES_MAX = 8_192;
const CONFIG_BYTES_MAX = 1_000_000;

/** The path that a file of git names, seen from the folder that has the file. Undefined where there is none. */
function namedIn(folder: string, file: string, start = /^/): string | undefined {
  const text = readSmallFile(folder, file, NAME_BYTES_MAX)?.replace(/\r?\n$/, "");
  return text && start.test(text) ? resolve(folder, text.replace(start, "")) : undefined;
}

function branchIn(gitFolder: string): string | undefined {
  const head = readSmallFile(gitFolder, join(gitFolder, "HEAD"), NAME_BYTES_MAX) ?? "";
  return /^ref: refs\/heads\/(\P{Cc}{1,400})\n?$/u.exec(head)?.[1];
}

/** The main checkout of a repository, or its own folder if it is bare. */
function mainOf(common: string): string {
  const above = dirname(common);
  if (basename(common) === ".git" && isPlainFolder(above)) return above;
  // The git folder of a submodule is in the repository around it, and names the submodule.
  const config = readSmallFile(common, join(common, "config"), CONFIG_BYTES_MAX) ?? "";
  const named = /^[ \t]*worktree[ \t]*=[ \t]*"?([^"\r\n]+)/m.exec(config)?.[1]?.trimEnd();
  const places = [above, ...(named === undefined ? [] : [resolve(common, named)])];
  const isMain = (place: string) =>
    isPlainFolder(place) &&
    lookFrom(join(place, ".git"))?.isFile() === true &&
    namedIn(place, join(place, ".git"), /^gitdir: /) === common;
  return places.find(isMain) ?? common;
}

/** Whether the path leads through no link to a folder of yours. */
function isPlainFolder(path: string): boolean {
  return isYours(path) && realpathSync(path) === path;
}
