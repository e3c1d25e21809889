import { mkdirSync, rmdirSync, statSync } from "node:fs";
import { mkdtemp, realpath } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { dirname, isAbsolute, join, parse, resolve } from "node:path";
import { SessionError } from "../core/errors.ts";

/**
 * Makes the folder at `path` and those above it, unless they are there. Returns those that it made, the
 * uppermost first. Unlike with Node's own recursive `mkdir`, the number of attempts has a bound: below `/proc`
 * Linux says that a folder which is there is missing, and Node would try for ever.
 *
 * @throws the system's error, such as `EACCES`
 */
export function makeFolders(path: string, mode = 0o777): readonly string[] {
  try {
    return make(path, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || dirname(path) === path) throw error;
  }
  return [...makeFolders(dirname(path), mode), ...make(path, mode)];
}

function make(path: string, mode: number): readonly string[] {
  try {
    mkdirSync(path, { mode });
    return [path];
  } catch (error) {
    if (isFolder(path)) return [];
    throw error;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/**
 * Makes a private folder in the system's temporary folder.
 *
 * @throws SessionError `SESSION_STORE_ERROR` when nothing can be made there
 */
export async function temporaryFolder(prefix: string): Promise<string> {
  try {
    return await realpath(await mkdtemp(join(tmpdir(), prefix)));
  } catch (error) {
    const { message } = SessionError.from(error);
    throw new SessionError("SESSION_STORE_ERROR", {
      message,
      hint: "Set TMPDIR to a folder that you can write.",
      cause: error,
    });
  }
}

/**
 * The reason why nothing can be kept in `folder`, in one sentence; undefined if something can. It makes a folder there, because
 * permissions alone do not tell, and leaves nothing behind.
 */
export function writingProblem(folder: string): string | undefined {
  const trial = join(resolve(folder), `.rkat-${crypto.randomUUID()}`);
  try {
    for (const made of makeFolders(trial, 0o700).toReversed()) removeIfEmpty(made);
    return undefined;
  } catch (error) {
    return SessionError.from(error).message.replaceAll(trial, resolve(folder));
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Another process uses it by now.
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Your home folder, as other programs know it. Where the system knows none, or only a relative one, it is the root,
 * as in a container that runs under an id without a name: a relative one would be a folder of the project.
 */
export function systemHome(env: Environment): string {
  const home = env.HOME || env.USERPROFILE || homeOfAccount();
  return isAbsolute(home) ? home : parse(process.execPath).root;
}

function homeOfAccount(): string {
  try {
    return homedir();
  } catch {
    // The id of the process has no name.
    return "";
  }
}
