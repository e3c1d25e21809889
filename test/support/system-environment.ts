import { devNull } from "node:os";

/**
 * All that a process of the tests, benchmarks and examples inherits. The rest is the contributor's own: keys, proxies, the
 * address of a store, a repository of git, settings of Node, colours.
 */
const NEEDED_BY_SYSTEM = [
  "PATH",
  // In tests it is a folder of theirs.
  "HOME",
  "TMPDIR",
  "TZ",
  "NODE_COMPILE_CACHE",
  "LD_LIBRARY_PATH",
  "LD_PRELOAD",
  // Windows cannot start a process without most of these.
  "APPDATA",
  "COMSPEC",
  "LOCALAPPDATA",
  "PATHEXT",
  "PROGRAMDATA",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "TEMP",
  "TMP",
  "USERPROFILE",
  "WINDIR",
];

/** Git reads no settings but those of the repository that a test makes. */
const WITHOUT_SETTINGS_OF_GIT = { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: devNull };

/** Whether a process needs a variable to run at all. Windows writes their names in any case. */
export function isNeededBySystem(name: string): boolean {
  return NEEDED_BY_SYSTEM.includes(process.platform === "win32" ? name.toUpperCase() : name);
}

/** The environment of a process that inherits nothing of the contributor's. */
export function systemEnvironment(): Record<string, string> {
  const inherited = Object.entries(process.env).filter(([name]) => isNeededBySystem(name));
  return { ...Object.fromEntries(inherited as [string, string][]), ...WITHOUT_SETTINGS_OF_GIT };
}
