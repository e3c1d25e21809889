import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { SessionError } from "../core/errors.ts";
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
import { shellWord } from "../text/quoting.ts";
import { isHome, keepingProblem, SET_HOME } from "./config-places.ts";
import { type Environment, TRUST_VARIABLE } from "./config-source.ts";
import { markAsMadeHere, type TrustedPlaces, trust, trustIn } from "./trust.ts";

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
export function makeStore(
  { storePlace }: { readonly storePlace: TrustedPlaces },
  env: Environment,
): void {
  makeDataFolder(storePlace, env);
  makeStoreFile(storePlace, env);
  requireTrustedStore(storePlace, env);
}

function makeStoreFile(places: TrustedPlaces, env: Environment): void {
  const { folder, storeFile } = places;
  if (lookAtFile(folder, storeFile)) return;
  // Trust comes first, because another process may open the store at once.
  // A name that no repository can guess: the file must be the one that is made here.
  const unseen = `${storeFile}.${crypto.randomUUID()}.new`;
  makeFile(folder, unseen, "");
  publishStore(places, unseen, env);
}

/**
 * Makes an empty store at any path, unless there is one that you made here, or that `isTrusted`.
 *
 * @throws SessionError `STORE_NOT_TRUSTED`, `UNSAFE_FILE`
 */
export function useOtherStore(storeFile: string, isTrusted: boolean, env: Environment): void {
  const dataFolder = dirname(storeFile);
  const isInProject = basename(dataFolder) === ".rkat";
  const places = {
    folder: isInProject ? dirname(dataFolder) : dataFolder,
    dataFolder,
    storeFile,
  };
  if (!existsSync(storeFile)) {
    makeFolders(dataFolder, 0o700);
    makeStoreFile(places, env);
  }
  if (isTrusted) return;
  requireTrusted(places, env, () =>
    needsTrust(`${storeFile} was not made by you on this machine.`),
  );
}

/** The refusal of a file that a flag can allow. */
export function needsTrust(message: string): SessionError {
  return new SessionError("STORE_NOT_TRUSTED", {
    message,
    hint: "It decides what is remembered, and which tool calls are allowed. If you know where it comes from, add --trust.",
  });
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
  requireTrusted(places, env, () => storeNotTrusted(places, env));
}

function requireTrusted(
  places: TrustedPlaces,
  env: Environment,
  refusal: () => SessionError,
): void {
  const { storeFile } = places;
  lookAtStore(storeFile);
  if (!trustIn(places, env).store) throw refusal();
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
