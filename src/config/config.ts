import type { ToolPolicy } from "../core/approval.ts";
import { type ConfigOwner, type ConfigSource, dotted, type FoundSetting } from "./config-source.ts";
import {
  type ProjectRule,
  SETTING_KEYS,
  SETTINGS,
  type SettingKey,
  type SettingValue,
} from "./settings.ts";

/** A setting in force, and who says so. */
export interface EffectiveSetting {
  /** As a file would spell it. */
  readonly key: string;
  /** Null when it has no value. */
  readonly value: unknown;
  /** The value as a file would spell it. */
  readonly written: string;
  /** `default`, a file's path, or a variable's name. */
  readonly origin: string;
}

export interface ProviderSettings {
  readonly base_url?: string;
  readonly api_key_env?: string;
}

/**
 * Settings in force. Later sources win, key by key; a project that you do not trust meets what was
 * there before as the setting's `project` rule says.
 */
export class Config {
  readonly #found = new Map<string, FoundSetting>();
  /** Policies of an untrusted project: a call is at least as restricted as they say. */
  readonly #atLeast = new Map<string, FoundSetting>();
  readonly #ignored: FoundSetting[] = [];

  constructor(sources: readonly ConfigSource[]) {
    for (const { owner, settings } of sources) {
      for (const found of settings) this.#add(found, owner);
    }
  }

  #add(found: FoundSetting, owner: ConfigOwner): void {
    const name = dotted(found.path);
    if (owner !== "project") {
      this.#found.set(name, found);
      return;
    }
    const { project: rule, default: usual } = SETTINGS[found.key];
    const before = this.#found.get(name)?.value ?? usual;
    if (!isTighter(rule, found.value, before)) this.#ignored.push(found);
    else (rule === "tightens" ? this.#atLeast : this.#found).set(name, found);
  }

  /** What an untrusted project's file says and may not. */
  get ignored(): readonly FoundSetting[] {
    return this.#ignored;
  }

  get<Key extends SettingKey>(key: Key): SettingValue<Key> {
    return (this.given(key) ?? SETTINGS[key].default) as SettingValue<Key>;
  }

  /** What somebody said; undefined when only the default speaks. */
  given<Key extends SettingKey>(key: Key): SettingValue<Key> | undefined {
    return this.#found.get(key)?.value as SettingValue<Key> | undefined;
  }

  /** What is said of each provider, by its name. */
  get providers(): Readonly<Record<string, ProviderSettings>> {
    const providers: Record<string, Record<string, unknown>> = {};
    for (const { path, value } of this.#under("providers")) {
      const [, name = "", setting = ""] = path;
      providers[name] = { ...providers[name], [setting]: value };
    }
    return providers;
  }

  /** What happens to calls of tools, by their names or patterns of names. */
  get toolPolicies(): Readonly<Record<string, ToolPolicy>> {
    return policiesIn(this.#found);
  }

  /** The same of a project that you do not trust. A call meets the stricter of both. */
  get toolPoliciesAtLeast(): Readonly<Record<string, ToolPolicy>> {
    return policiesIn(this.#atLeast);
  }

  /** Tokens by `provider/model`. */
  get contextWindows(): Readonly<Record<string, number>> {
    return Object.fromEntries(
      this.#under("context_windows").map(({ path, value }) => [path[1] ?? "", value as number]),
    );
  }

  /** Every setting, in the order of the table; those of the user's own names last. */
  effective(): readonly EffectiveSetting[] {
    const fixed = SETTING_KEYS.filter((key) => !key.includes("*")).map((key) => {
      const found = this.#found.get(key);
      return entry(key, key, this.get(key), found?.origin ?? "default");
    });
    const named = [...this.#found.values(), ...this.#atLeast.values()]
      .filter(({ key }) => key.includes("*"))
      .map(({ key, path, value, origin }) => entry(dotted(path), key, value, origin));
    return [...fixed, ...named];
  }

  #under(section: string): readonly FoundSetting[] {
    return [...this.#found.values()].filter(({ path }) => path[0] === section);
  }
}

/** Whether a project's value may be used where `before` was in force. */
function isTighter(rule: ProjectRule, value: unknown, before: unknown): boolean {
  switch (rule) {
    case "sets":
      return true;
    case "lowers":
      return before === undefined || (value as number) <= (before as number);
    case "switches off":
      return value === false;
    case "tightens":
      return value !== "allow";
    case "if trusted":
      return false;
  }
}

function policiesIn(
  found: ReadonlyMap<string, FoundSetting>,
): Readonly<Record<string, ToolPolicy>> {
  const policies: Record<string, ToolPolicy> = {};
  for (const { key, path, value } of found.values()) {
    if (key === "approvals.default") policies["*"] = value as ToolPolicy;
    if (key === "tools.*.policy") policies[path[1] ?? ""] = value as ToolPolicy;
  }
  return policies;
}

function entry(key: string, setting: SettingKey, value: unknown, origin: string): EffectiveSetting {
  if (value === undefined) return { key, value: null, written: "", origin };
  const shown = setting.endsWith(".base_url") ? withoutPassword(String(value)) : value;
  const write = SETTINGS[setting].kind.write as (value: unknown) => string;
  return { key, value: shown, written: write(shown), origin };
}

function withoutPassword(address: string): string {
  const url = new URL(address);
  if (url.password !== "") url.password = "***";
  return url.href.replace(/\/$/, address.endsWith("/") ? "/" : "");
}
