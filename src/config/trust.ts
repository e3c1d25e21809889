import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { userConfigFile } from "./config-places.ts";
import { type Environment, TRUST_VARIABLE } from "./read-variables.ts";

/**
 * What you trust, kept outside of every project, beside your own `config.toml`. Each project has
 * a folder there, and each thing that you trust an empty file, named after its identity on the disk:
 *
 *     ~/.config/rkat/trust/6f1c…/folder-66306-131-…     the project's .rkat
 *                               /store-66306-140-…      the rkat.db in it
 *
 * Another folder that takes the same place has another identity, and is not trusted.
 */
export interface Trust {
  /** Whether you trust this `.rkat` folder: its `config.toml` counts as yours. */
  readonly folder: boolean;
  /** Whether the store in it was made here by you, or you said that you trust it. */
  readonly store: boolean;
}

/** Where a project keeps what can be trusted. */
export interface TrustedPlaces {
  readonly folder: string;
  readonly dataFolder: string;
  readonly storeFile: string;
}

export function trustIn(places: TrustedPlaces, env: Environment): Trust {
  if (env[TRUST_VARIABLE] === "true") return { folder: true, store: true };
  return {
    folder: isTrusted("folder", places.dataFolder, places, env),
    store: isTrusted("store", places.storeFile, places, env),
  };
}

function isTrusted(what: keyof Trust, path: string, places: TrustedPlaces, env: Environment) {
  const identity = identityOf(path);
  return (
    identity !== undefined && existsSync(join(trustFolder(places, env), `${what}-${identity}`))
  );
}

/** Trusts the file or folder that is at `path` now. */
export function trust(
  what: keyof Trust,
  path: string,
  places: TrustedPlaces,
  env: Environment,
): void {
  const identity = identityOf(path);
  if (identity === undefined) return;
  const folder = trustFolder(places, env);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, "project"), `${places.folder}\n`, { mode: 0o600 });
  writeFileSync(join(folder, `${what}-${identity}`), "", { mode: 0o600 });
}

/** Forgets that anything of the project was trusted. */
export function distrust(places: TrustedPlaces, env: Environment): void {
  rmSync(trustFolder(places, env), { recursive: true, force: true });
}

function trustFolder({ folder }: TrustedPlaces, env: Environment): string {
  const path = existsSync(folder) ? realpathSync(folder) : folder;
  const name = createHash("sha256").update(path).digest("hex").slice(0, 32);
  return join(dirname(userConfigFile(env)), "trust", name);
}

/**
 * Device, inode and time of birth: an inode alone is given again to the next file. `undefined` where
 * nothing is, or a link.
 */
function identityOf(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  if (!found || found.isSymbolicLink()) return undefined;
  return `${found.dev}-${found.ino}-${found.birthtimeNs}`;
}
