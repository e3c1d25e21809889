import type { ToolPolicy } from "../core/approval.ts";
import { type ConfigSource, dotted, type FoundSetting } from "./config-source.ts";
import { SETTING_KEYS, SETTINGS, type SettingKey, type SettingValue } from "./settings.ts";

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

/** Settings in force: later sources win, key by key. */
export class Config {
  readonly #found = new Map<string, FoundSetting>();

  constructor(sources: readonly ConfigSource[]) {
    for (const source of sources) {
      for (const found of source.settings) this.#found.set(dotted(found.path), found);
    }
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
    const named = this.#under("tools").map(({ path, value }) => [path[1] ?? "", value]);
    const others = this.get("approvals.default");
    return { ...(others === undefined ? {} : { "*": others }), ...Object.fromEntries(named) };
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
    const named = [...this.#found.values()]
      .filter(({ key }) => key.includes("*"))
      .map(({ key, path, value, origin }) => entry(dotted(path), key, value, origin));
    return [...fixed, ...named];
  }

  #under(section: string): readonly FoundSetting[] {
    return [...this.#found.values()].filter(({ path }) => path[0] === section);
  }
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
