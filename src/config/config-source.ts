import { nearestName } from "./nearest-name.ts";
import { SETTING_KEYS, SETTINGS, type SettingKey } from "./settings.ts";

/** Whose settings these are. Variables and flags are yours, as your own file is. */
export type ConfigOwner = "user" | "project" | "trusted project";

/** What one file, or the environment, says of the settings. */
export interface ConfigSource {
  readonly owner: ConfigOwner;
  /** The file's path, or the word for what else it is. */
  readonly name: string;
  readonly settings: readonly FoundSetting[];
  /** Sentences that say what is wrong in it. */
  readonly problems: readonly string[];
  /** Sentences about what was read in another sense than a user might think. */
  readonly notes?: readonly string[];
}

export interface FoundSetting {
  readonly key: SettingKey;
  /** The key with the user's own names in the place of `*`. */
  readonly path: readonly string[];
  readonly value: unknown;
  /** Where exactly it was found, as `rkat config` shows it. */
  readonly origin: string;
}

/** A key as a file would spell it: `context_windows."openai/gpt-5"`. */
export function dotted(path: readonly string[]): string {
  return path.map((part) => (/^[\w-]+$/.test(part) ? part : JSON.stringify(part))).join(".");
}

/** Says that a key is not a setting, and which one was probably meant. */
export function unknownSetting(spelled: string, names: readonly string[]): string {
  const near = nearestName(spelled, names);
  const advice = near === undefined ? "`rkat config` lists them all." : `Did you mean ${near}?`;
  return `${spelled} is not a setting. ${advice}`;
}

/** Says what was found in the place of an allowed value. Never shows what may be a key. */
export function badValue(spelled: string, key: SettingKey, value: unknown): string {
  const found = key.endsWith(".api_key_env") ? "" : ` is ${describe(value)}; it`;
  return `${spelled}${found} must be ${SETTINGS[key].kind.allowed}.`;
}

/** Whether `path` names a section, such as `compaction` or `providers.openai`. */
export function isSection(path: readonly string[]): boolean {
  return SETTING_KEYS.some((key) => {
    const pattern = key.split(".");
    return (
      pattern.length > path.length &&
      path.every((part, index) => pattern[index] === "*" || pattern[index] === part)
    );
  });
}

/** Every setting and section; `*` stands for what `path` has in its place. */
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
