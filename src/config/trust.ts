import {
  type BigIntStats,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { SessionError } from "../core/errors.ts";
import { makeFolders } from "../files/make-folders.ts";
import { publish, readSmallFile, remove, withFile } from "../files/plain-files.ts";
import {
  isHome,
  isYours,
  keepingProblem,
  lookFrom,
  namedBy,
  ownFolder,
  SET_HOME,
} from "./config-places.ts";
import { type Environment, TRUST_VARIABLE } from "./config-source.ts";

/**
 * The things that you trust. They are stored beside your own `config.toml`, outside of all projects. Each project
 * has a folder there, with an empty file for each trusted thing, named after its identity on disk:
 *
 *     ~/.config/rkat/trust/66306-128-…/folder-66306-131-…     the project's .rkat
 *                                    /settings-66306-133-…   the config.toml in it
 *                                    /store-66306-140-…      the rkat.db in it
 *
 * Another folder or file at the same path has another identity, so it is not trusted: what a
 * `git pull` brings is a new file. An editor that writes into the file keeps its identity.
 */
export interface Trust {
  /** You trust this `.rkat` folder and the `config.toml` in it, so its settings count as yours. */
  readonly settings: boolean;
  /** You made the store in it here, or you said that you trust it. */
  readonly store: boolean;
  /** You trusted another `config.toml` in the place of the one that is there. */
  readonly wasReplaced?: boolean;
}

/** The places in a project that can be trusted. */
export interface TrustedPlaces {
  readonly folder: string;
  readonly dataFolder: string;
  readonly storeFile: string;
}

export function trustIn(places: TrustedPlaces, env: Environment): Trust {
  if (env[TRUST_VARIABLE] === "true") return { settings: true, store: true };
  const file = settingsFile(places);
  const settings =
    isTrusted("folder", places.dataFolder, places, env) &&
    (identityOf(file) === undefined || isTrusted("settings", file, places, env));
  return {
    settings,
    ...(!settings && wasReplaced(places, env) ? { wasReplaced: true } : {}),
    store:
      isTrusted("store", places.storeFile, places, env) ||
      isOwnStore(places, env) ||
      isMadeHere(places, () => keepingProblem(env) !== undefined),
  };
}

/** Whether another `config.toml` in this folder was trusted than the one that is there. */
function wasReplaced(places: TrustedPlaces, env: Environment): boolean {
  const kept = trustFolder(places, env);
  if (kept === undefined || !isTrusted("folder", places.dataFolder, places, env)) return false;
  return readdirSync(kept).some((name) => name.startsWith("settings-"));
}

/**
 * Whether it is the user-wide store: in your home folder, yours, and private. A file that git wrote
 * can be read by others.
 */
function isOwnStore({ folder, dataFolder, storeFile }: TrustedPlaces, env: Environment): boolean {
  if (!isHome(folder, env) || !isYours(dataFolder)) return false;
  const found = lookFrom(storeFile);
  if (!found?.isFile()) return false;
  if (process.getuid === undefined) return true;
  return found.uid === BigInt(process.getuid()) && (found.mode & 0o077n) === 0n;
}

/** The kinds of things that are trusted by their identity. */
type Trusted = "folder" | "settings" | "store";

export function settingsFile({ dataFolder }: Pick<TrustedPlaces, "dataFolder">): string {
  return join(dataFolder, "config.toml");
}

function isTrusted(what: Trusted, path: string, places: TrustedPlaces, env: Environment) {
  const identity = identityOf(path);
  const folder = trustFolder(places, env);
  return (
    identity !== undefined &&
    folder !== undefined &&
    existsSync(join(folder, `${what}-${identity}`))
  );
}

/**
 * Trusts the file or folder at `path`, as it is now. Returns whether that is kept: it is not without a home that
 * can be written.
 *
 * @throws SessionError `SESSION_STORE_ERROR` when a variable names the place, and it cannot be written
 */
export function trust(
  what: Trusted,
  path: string,
  places: TrustedPlaces,
  env: Environment,
): boolean {
  const identity = identityOf(path);
  const folder = trustFolder(places, env);
  if (identity === undefined || folder === undefined) return false;
  try {
    const isNew = makeFolders(folder, 0o700).length > 0;
    writeFileSync(join(folder, "project"), `${places.folder}\n`, { mode: 0o600 });
    writeFileSync(join(folder, `${what}-${identity}`), "", { mode: 0o600 });
    if (isNew) sweepTrust(folder);
    return true;
  } catch (error) {
    if (namedBy(env) === undefined && isNoPlace(error)) return false;
    throw unwritable(error);
  }
}

/** Notes the present path of a trusted folder: decisions about folders that are gone are swept. */
export function noteFolder(places: TrustedPlaces, env: Environment): void {
  const kept = trustFolder(places, env);
  if (kept === undefined) return;
  const file = join(kept, "project");
  try {
    const folder = `${places.folder}\n`;
    if (readFileSync(file, "utf8") !== folder) writeFileSync(file, folder, { mode: 0o600 });
  } catch {
    // Nothing is kept for it, or it cannot be written.
  }
}

/** Ends all trust in the project. */
export function distrust(places: TrustedPlaces, env: Environment): void {
  forgetMadeHere(places);
  const folder = trustFolder(places, env);
  if (folder === undefined || !existsSync(folder)) return;
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    throw unwritable(error);
  }
}

/** The system's errors for a folder that you may not write. A full disk is another matter. */
const NO_PLACE = ["EACCES", "EPERM", "EROFS", "ENOENT", "ENOTDIR", "EEXIST", "ELOOP"];

function isNoPlace(error: unknown): boolean {
  return NO_PLACE.includes(String((error as NodeJS.ErrnoException).code));
}

function unwritable(error: unknown): SessionError {
  const { message } = SessionError.from(error);
  return new SessionError("SESSION_STORE_ERROR", { message, hint: SET_HOME, cause: error });
}

const KEY_BYTES = 32;

/**
 * Your own secret, made at its first use. A file in a project that carries its mark was written by
 * rkat for you. Undefined when it cannot be kept.
 */
export function ownKey(env: Environment): Uint8Array | undefined {
  const folder = ownFolder(env);
  if (folder === undefined) return undefined;
  const file = join(folder, "key");
  try {
    if (!existsSync(file)) {
      makeFolders(folder, 0o700);
      const unseen = `${file}.${crypto.randomUUID()}`;
      const key = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
      writeFileSync(unseen, key, { mode: 0o600, flag: "wx" });
      publish(unseen, file);
    }
    const key = readFileSync(file);
    return key.length === KEY_BYTES ? key : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The folder of your decisions about a project. Undefined without a home. It is named after the identity of the project's
 * folder: a hash of its path would need `node:crypto`, which loads slowly.
 */
export function trustFolder({ folder }: TrustedPlaces, env: Environment): string | undefined {
  const identity = existsSync(folder) ? identityOf(realpathSync(folder)) : undefined;
  const own = ownFolder(env);
  return identity && own && join(own, "trust", identity);
}

/**
 * Device, inode and creation time. An inode alone is not enough, because the next file may reuse it.
 * Undefined for a link, or when there is nothing.
 */
function identityOf(path: string): string | undefined {
  const found = lookFrom(path);
  if (!found || found.isSymbolicLink()) return undefined;
  return `${found.dev}-${found.ino}-${found.birthtimeNs}`;
}

/**
 * Removes the decisions about projects whose folders are gone. The folder of another disk may only be
 * unplugged, so its decisions stay: the name of its place begins with its device.
 */
function sweepTrust(kept: string): void {
  const all = dirname(kept);
  for (const name of readdirSync(all)) {
    try {
      const place = join(all, name);
      const project = readFileSync(join(place, "project"), "utf8").trimEnd();
      if (isGone(project, name)) rmSync(place, { recursive: true, force: true });
    } catch {
      // Another process is making it, or removes it too. A folder that cannot be looked at may be there.
    }
  }
}

function isGone(project: string, name: string): boolean {
  if (project === "" || look(project)) return false;
  let above = dirname(project);
  while (!look(above) && above !== dirname(above)) above = dirname(above);
  return name.startsWith(`${look(above)?.dev}-`);
}

const look = (path: string) => lstatSync(path, { throwIfNoEntry: false });

/**
 * Marks a store as made here, on a machine without a home that could say so. The mark is in the project, so a
 * stranger may bring one. It has a line for each store that was made, with the file's inode and the time of its
 * birth in nanoseconds: a stranger cannot know these, because the file gets them when it arrives here.
 */
const MADE_HERE = "made-here";

interface Places {
  readonly folder: string;
  readonly dataFolder: string;
  readonly storeFile: string;
}

const MARKS_BYTES_MAX = 4_096;

/**
 * The stores that this process made on file systems that keep no time of birth. Elsewhere the mark alone counts, so
 * that another process can take it back.
 */
const made = new Set<string>();

/** Marks a store that is being made, before it gets its name. */
export function markAsMadeHere({ folder, dataFolder }: Places, unseen: string): void {
  const found = lookFrom(unseen);
  if (!found) return;
  if (found.birthtimeNs === 0n) {
    made.add(birthOf(found));
    return;
  }
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND;
  const file = join(dataFolder, MADE_HERE);
  const line = `${markOf(found)}\n`;
  const append = () => withFile(folder, file, flags, (open) => writeSync(open, line));
  try {
    append();
  } catch (error) {
    // Another process made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    append();
  }
}

/** Whether a mark says that the store was made here. Where trust can be kept, a mark says nothing. */
function isMadeHere(
  { folder, dataFolder, storeFile }: Places,
  isWithoutHome: () => boolean,
): boolean {
  const found = lookFrom(storeFile);
  if (!found?.isFile()) return false;
  if (found.birthtimeNs === 0n) return made.has(birthOf(found)) && isWithoutHome();
  try {
    const lines =
      readSmallFile(folder, join(dataFolder, MADE_HERE), MARKS_BYTES_MAX)?.split("\n") ?? [];
    return lines.includes(markOf(found)) && isWithoutHome();
  } catch {
    // A file that is not safe to use says nothing.
    return false;
  }
}

function forgetMadeHere({ folder, dataFolder, storeFile }: Places): void {
  const found = lookFrom(storeFile);
  if (found) made.delete(birthOf(found));
  if (lookFrom(dataFolder)) remove(folder, join(dataFolder, MADE_HERE));
}

const birthOf = (found: BigIntStats) => `${found.dev}-${markOf(found)}`;

/** Without the device, whose number may change when a container starts again. */
const markOf = ({ ino, birthtimeNs }: BigIntStats) => `${ino}-${birthtimeNs}`;
