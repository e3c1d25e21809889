import { shownAddress } from "../core/errors.ts";
import { nearestName } from "../text/nearest-name.ts";
import { SETTING_KEYS, SETTING_PATTERNS, SETTINGS, type SettingKey } from "./settings.ts";

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
  return key === "store" || key.endsWith(".base_url");
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
