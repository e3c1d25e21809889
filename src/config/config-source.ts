import { shownAddress } from "../core/errors.ts";
import { nearestName } from "../text/nearest-name.ts";
import {
  SETTING_KEYS,
  SETTING_PATTERNS,
  SETTINGS,
  type SettingKey,
  settingAt,
} from "./settings.ts";

/** The owner of settings. Variables and flags count as the user's. */
export type ConfigOwner = "user" | "project" | "trusted project";

/** The settings of one file, or of the environment. */
export interface ConfigSource {
  readonly owner: ConfigOwner;
  /** The file's path, or `environment`. */
  readonly name: string;
  readonly settings: readonly FoundSetting[];
  /** Its problems, one sentence each. */
  readonly problems: readonly string[];
  /** Notes on settings that were read in another way than they were written, one sentence each. */
  readonly notes?: readonly string[];
}

export interface FoundSetting {
  readonly key: SettingKey;
  /** The key with the user's names for `*`. */
  readonly path: readonly string[];
  readonly value: unknown;
  /** The place where it was found, as `rkat config` shows it. */
  readonly origin: string;
}

/** A key in TOML: `context_windows."openai/gpt-5"`. */
export function dotted(path: readonly string[]): string {
  return path.map((part) => (/^[\w-]+$/.test(part) ? part : JSON.stringify(part))).join(".");
}

/** The message for an unknown key, with the setting that was probably meant. */
export function unknownSetting(spelled: string, names: readonly string[]): string {
  const near = nearestName(spelled, names);
  const advice = near === undefined ? "`rkat config` lists them all." : `Did you mean ${near}?`;
  return `${cut(spelled)} is not a setting. ${advice}`;
}

/** Whether the value is an address, which may have a password or a key in it. */
export function mayHaveSecret(key: SettingKey): boolean {
  return key === "store" || key.endsWith("url");
}

/** The message for a value that is not allowed. It never shows what may be an API key. */
export function badValue(spelled: string, key: SettingKey, value: unknown): string {
  const safe = mayHaveSecret(key) && typeof value === "string" ? shownAddress(value) : value;
  const found = key.endsWith(".api_key_env") ? "" : ` is ${describe(safe)}; it`;
  return `${spelled}${found} must be ${SETTINGS[key].kind.allowed}.`;
}

/** Whether `path` names a section, such as `compaction` or `providers.openai`. */
export function isSection(path: readonly string[]): boolean {
  return SETTING_PATTERNS.some(
    (pattern) =>
      pattern.length > path.length &&
      path.every((part, index) => pattern[index] === "*" || pattern[index] === part),
  );
}

/** All settings and sections, with the names in `path` for `*`. */
export function namesAround(path: readonly string[]): readonly string[] {
  return SETTING_KEYS.flatMap((key) => {
    const parts = key.split(".");
    if (parts.includes("*") && parts[0] !== path[0]) return parts.slice(0, 1);
    const named = parts.map((part, index) => (part === "*" ? (path[index] ?? "") : part));
    return named.map((_, index) => dotted(named.slice(0, index + 1)));
  });
}

function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(cut(value));
  if (Array.isArray(value)) return "a list";
  if (value instanceof Date) return "a date";
  if (typeof value === "object" && value !== null) return "a section";
  return String(value);
}

function cut(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

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
