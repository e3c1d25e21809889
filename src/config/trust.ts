import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { publish } from "../files/plain-files.ts";
import { isHome, isYours, lookFrom, userConfigFile } from "./config-places.ts";
import { type Environment, TRUST_VARIABLE } from "./read-variables.ts";

/**
 * What you trust. It is stored beside your own `config.toml`, outside of all projects. Each project
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
  return {
    settings:
      isTrusted("folder", places.dataFolder, places, env) &&
      (identityOf(file) === undefined || isTrusted("settings", file, places, env)),
    store: isTrusted("store", places.storeFile, places, env) || isOwnStore(places, env),
  };
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

/** What can be trusted by its identity. */
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

/** Trusts the file or folder at `path`, as it is now. */
export function trust(what: Trusted, path: string, places: TrustedPlaces, env: Environment): void {
  const identity = identityOf(path);
  const folder = trustFolder(places, env);
  if (identity === undefined || folder === undefined) return;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, "project"), `${places.folder}\n`, { mode: 0o600 });
  writeFileSync(join(folder, `${what}-${identity}`), "", { mode: 0o600 });
}

/** Ends all trust in the project. */
export function distrust(places: TrustedPlaces, env: Environment): void {
  const folder = trustFolder(places, env);
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}

const KEY_BYTES = 32;

/**
 * Your own secret, made at its first use. A file in a project that carries its mark was written by
 * rkat for you. Undefined when it cannot be kept.
 */
export function ownKey(env: Environment): Uint8Array | undefined {
  const folder = dirname(userConfigFile(env));
  const file = join(folder, "key");
  try {
    if (!existsSync(file)) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
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
 * Where you keep what you decided about a project. It is named after the identity of the project's
 * folder: a hash of its path would need `node:crypto`, which loads slowly.
 */
export function trustFolder({ folder }: TrustedPlaces, env: Environment): string | undefined {
  const identity = existsSync(folder) ? identityOf(realpathSync(folder)) : undefined;
  return identity && join(dirname(userConfigFile(env)), "trust", identity);
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
