import { SessionError } from "../core/errors.ts";
import { Config, type ConfigFacts } from "./config.ts";
import { type ConfigSource, dotted, type Environment, readVariables } from "./config-source.ts";
import { readConfigFile } from "./read-config-file.ts";
import { SETTINGS, type SettingKey } from "./settings.ts";
import { misspeltTools, toolNote, unknownTools } from "./tool-names.ts";

interface ConfigPlaces {
  /** The user's own `config.toml`. Missing without a home. */
  readonly userFile?: string;
  /** The project's `.rkat/config.toml`. */
  readonly projectFile: string;
  /** Whether the user trusts the project's file. */
  readonly isTrusted: boolean;
  /** The address of a database that a flag named. */
  readonly store?: string;
  /** Whether the user trusted another file in its place. */
  readonly wasTrusted?: boolean | undefined;
  readonly env: Environment;
}

export interface LoadedConfig {
  /** Variables override the project's file, which overrides the user's file and the defaults. */
  readonly config: Config;
  /** All problems, as one `INVALID_CONFIG`. Wrong settings are not in `config`. */
  readonly problem: SessionError | undefined;
  /** Notes for the user about settings that were read differently or ignored. */
  readonly notes: readonly string[];
}

export async function loadConfig(places: ConfigPlaces): Promise<LoadedConfig> {
  const files = [
    ...(places.userFile === undefined ? [] : [await readConfigFile(places.userFile, "user")]),
    await readConfigFile(places.projectFile, places.isTrusted ? "trusted project" : "project"),
  ];
  // A stranger's file does not decide what your variables mean.
  const settings = files.flatMap(({ owner, settings: own }) => (owner === "project" ? [] : own));
  const names = settings.flatMap(({ key, path }) => path[key.split(".").indexOf("*")] ?? []);
  return configOf([...files, readVariables(places.env, names)], places);
}

/** The settings of all sources, of which later ones win. */
export function configOf(sources: readonly ConfigSource[], facts?: ConfigFacts): LoadedConfig {
  const problems = sources.flatMap((source) => source.problems);
  const notes = sources.flatMap((source) => source.notes ?? []);
  const config = new Config(sources, facts);
  return {
    config,
    problem: problemOf(problems),
    notes: [...notes, ...ignoredNotes(config), ...unusedSettings(config), ...toolNotes(config)],
  };
}

function ignoredNotes({ ignored, isTrusted, wasTrusted }: Config): readonly string[] {
  const note = (some: Config["ignored"], why: string) => {
    const keys = [...new Set(some.map(({ path }) => dotted(path)))];
    return some.length === 0 ? [] : [`${some[0]?.origin}: ignored ${listed(keys)}, because ${why}`];
  };
  if (isTrusted) return note(ignored, SHARED);
  const isNever = ({ key }: Config["ignored"][number]) => SETTINGS[key].project === "never";
  return [
    ...note(
      ignored.filter((setting) => !isNever(setting)),
      wasTrusted
        ? "another file was trusted in its place. An editor may have replaced it, or `git pull`. If you wrote it or have read it, run `rkat trust`."
        : "you do not trust this file. If you wrote it or have read it, run `rkat trust`.",
    ),
    ...note(
      ignored.filter(isNever),
      "it decides where your words go. Only your own config.toml, a variable or a flag can set it.",
    ),
  ];
}

const SHARED =
  "the store is a database that other projects may share, and it would delete what they keep. Only your own config.toml or a variable can set it.";

function problemOf(problems: readonly string[]): SessionError | undefined {
  if (problems.length === 0) return undefined;
  const list = problems.length === 1 ? problems : [`${problems.length} problems:`, ...problems];
  return new SessionError("INVALID_CONFIG", { detail: list.join("\n") });
}

/**
 * The settings of a project's file that you have not trusted, in a sentence with the way out. With `names`, only
 * these keys and sections count. Undefined if it sets nothing of the kind.
 */
export function untrustedNote(
  { ignored, isTrusted, wasTrusted }: Config,
  ...names: readonly string[]
): string | undefined {
  if (isTrusted) return undefined;
  const keys = ignored
    .filter(({ key }) => SETTINGS[key].project !== "never")
    .map(({ path }) => dotted(path))
    .filter((key) => names.length === 0 || names.some((name) => `${key}.`.startsWith(`${name}.`)));
  if (keys.length === 0) return undefined;
  const file = `\`.rkat/config.toml\` sets ${listed([...new Set(keys)])}`;
  return wasTrusted
    ? `${file}. You trusted that file, and it was replaced since, as an editor or \`git pull\` does. If you wrote it or have read it, run \`rkat trust\`.`
    : `${file}, and you have not trusted that file. If you wrote it or have read it, run \`rkat trust\`.`;
}

/** Settings that only count while another one has a value. */
interface Need {
  /** Keys, or sections such as `search.`. */
  readonly settings: readonly string[];
  readonly key: SettingKey;
  readonly value: unknown;
}

const CAPABILITIES: readonly Need[] = [
  {
    settings: ["compaction.", "memory.window_size", "memory.pin_budget"],
    key: "capabilities.session_compaction",
    value: true,
  },
  {
    settings: [
      "memory.enabled",
      "memory.store",
      "memory.index",
      "memory.min_score",
      "memory.cache_mb",
      "search.",
      "embeddings.",
      "knowledge.",
    ],
    key: "capabilities.memory_store",
    value: true,
  },
];

const OTHERS: readonly Need[] = [
  { settings: ["memory.min_score", "search.max_results"], key: "search.enabled", value: true },
  { settings: ["knowledge."], key: "knowledge.enabled", value: true },
  { settings: ["memory.cache_mb"], key: "memory.store", value: "sqlite" },
  { settings: ["search.index_dir"], key: "memory.store", value: "hnsw" },
];

/** The settings for a capability that is switched off. A sentence names both settings. */
export function switchedOffSettings(config: Config): readonly string[] {
  return [
    ...unmet(CAPABILITIES, config),
    ...config.halfPriced.map(
      (model) => `prices."${model}" has no effect: it needs both input and output.`,
    ),
  ];
}

/** All settings that are given and have no effect because of another: a sentence for each group. */
function unusedSettings(config: Config): readonly string[] {
  if (!config.get("capabilities.memory_store")) return switchedOffSettings(config);
  return [...switchedOffSettings(config), ...unmet(OTHERS, config)];
}

/** Policies for tools that are not there. */
function toolNotes(config: Config): readonly string[] {
  return unknownTools(policyNames(config)).map((tool) => toolNote(tool, policyOf(tool.name)));
}

/** The same, of names that are probably misspelt. */
export function misspeltPolicies(config: Config): readonly string[] {
  return misspeltTools(policyNames(config), policyOf);
}

function policyNames({ toolPolicies, toolPoliciesAtLeast }: Config): readonly string[] {
  return Object.keys({ ...toolPolicies, ...toolPoliciesAtLeast });
}

const policyOf = (name: string) => dotted(["tools", name, "policy"]);

function unmet(needs: readonly Need[], config: Config): readonly string[] {
  const effective = config.effective();
  // A capability that is switched off needs nothing.
  const given = effective.filter(({ origin, value }) => origin !== "default" && value !== false);
  return needs.flatMap(({ settings, key, value }) => {
    if (config.get(key) === value) return [];
    const unused = given
      .map((each) => each.key)
      .filter((each) =>
        settings.some((name) => (name.endsWith(".") ? each.startsWith(name) : each === name)),
      );
    if (unused.length === 0) return [];
    const found = effective.find((each) => each.key === key);
    const verb = unused.length === 1 ? "has" : "have";
    return [
      `${listed(unused)} ${verb} no effect, because ${key} = ${found?.written} (${found?.origin}).`,
    ];
  });
}

/** A file by others can have any number of names. */
const LISTED_MAX = 20;

/** The names as a list in a sentence. */
function listed(names: readonly string[]): string {
  if (names.length > LISTED_MAX)
    return `${names.slice(0, LISTED_MAX).join(", ")} and ${names.length - LISTED_MAX} more`;
  return names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : `${names[0]}`;
}
