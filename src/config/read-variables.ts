import { badValue, type ConfigSource, type FoundSetting, unknownSetting } from "./config-source.ts";
import { SETTING_KEYS, SETTINGS, settingAt } from "./settings.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = "RKAT_";

/** `RKAT_TRUST=true` trusts the current project for one command. */
export const TRUST_VARIABLE = "RKAT_TRUST";

/** `RKAT_USER=ada` is the default of `--user`. */
export const USER_VARIABLE = "RKAT_USER";

/** Variables that cannot be in a file: the token of `rkat serve`, trust, and the user. */
const NOT_SETTINGS = ["RKAT_TOKEN", TRUST_VARIABLE, USER_VARIABLE];

/** Reads `RKAT_MODEL`, `RKAT_COMPACTION__RECENT_TURN_BUDGET` and so on. Empty variables are ignored. */
export function readVariables(env: Environment): ConfigSource {
  const settings: FoundSetting[] = [];
  const problems: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(PREFIX) || value === undefined || value === "") continue;
    if (NOT_SETTINGS.includes(name)) continue;
    const path = name.slice(PREFIX.length).toLowerCase().split("__");
    const key = settingAt(path);
    if (key === undefined) {
      problems.push(`environment: ${unknownSetting(name, VARIABLES)}`);
      continue;
    }
    const read = SETTINGS[key].kind.readText(value);
    if (read === undefined) problems.push(`environment: ${badValue(name, key, value)}`);
    else settings.push({ key, path, value: read, origin: name });
  }
  return { owner: "user", name: "environment", settings, problems };
}

/** The variable that sets a key. */
function variableName(key: string): string {
  return PREFIX + key.toUpperCase().replaceAll(".", "__");
}

const VARIABLES = SETTING_KEYS.filter((key) => !key.startsWith("context_windows")).map(
  variableName,
);
