import { badValue, type ConfigSource, type FoundSetting, unknownSetting } from "./config-source.ts";
import { SETTING_KEYS, SETTINGS, settingAt } from "./settings.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = "RKAT_";

/** `RKAT_TRUST=true` trusts the current project for one command. */
export const TRUST_VARIABLE = "RKAT_TRUST";

/** `RKAT_USER=ada` is the default of `--user`. */
export const USER_VARIABLE = "RKAT_USER";

/** `RKAT_HOME=/data` puts your own files there, instead of into your home folder. */
export const HOME_VARIABLE = "RKAT_HOME";

/** Variables that cannot be in a file, and what they do. */
export const NOT_SETTINGS: Readonly<Record<string, string>> = {
  [HOME_VARIABLE]:
    "The folder that takes the place of your home folder: an absolute path. Your configuration and what you trust are in its `.config/rkat`, the user-wide store in its `.rkat`.",
  [USER_VARIABLE]: "The default of `--user`.",
  [TRUST_VARIABLE]: "`true` trusts the project for one command.",
  RKAT_TOKEN: "The token that a server asks for.",
};

/**
 * Reads `RKAT_MODEL`, `RKAT_COMPACTION__RECENT_TURN_BUDGET` and so on. Empty variables are ignored. A variable cannot have
 * a hyphen: `RKAT_PROVIDERS__OPENAI_COMPATIBLE__BASE_URL` means the provider `openai-compatible`, and any of `names`, which the
 * files have, is meant in the same way.
 */
export function readVariables(env: Environment, names: readonly string[] = []): ConfigSource {
  const settings: FoundSetting[] = [];
  const problems: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(PREFIX) || value === undefined || value === "") continue;
    if (name in NOT_SETTINGS) continue;
    const written = name.slice(PREFIX.length).toLowerCase().split("__");
    const key = settingAt(written);
    if (key === undefined) {
      problems.push(`environment: ${unknownSetting(name, VARIABLES)}`);
      continue;
    }
    const path = written.map((part, at) =>
      key.split(".")[at] === "*" ? nameMeant(part, names) : part,
    );
    const read = SETTINGS[key].kind.readText(value);
    if (read === undefined) problems.push(`environment: ${badValue(name, key, value)}`);
    else settings.push({ key, path, value: read, origin: name });
  }
  return { owner: "user", name: "environment", settings, problems };
}

/** A name of the user's choice, as a variable can write it. */
function nameMeant(part: string, names: readonly string[]): string {
  const known = [...names, "openai-compatible"];
  if (known.includes(part)) return part;
  return known.find((name) => name.toLowerCase().replaceAll(/\W/g, "_") === part) ?? part;
}

/** The variable that sets a key. */
function variableName(key: string): string {
  return PREFIX + key.toUpperCase().replaceAll(".", "__");
}

const VARIABLES = SETTING_KEYS.filter((key) => !/^(?:context_windows|prices)\b/.test(key)).map(
  variableName,
);
