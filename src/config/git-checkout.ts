import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { readSmallFile } from "../files/plain-files.ts";
import { isYours, lookFrom } from "./config-places.ts";

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
