import type { Config } from "./config.ts";
import type { SettingKey } from "./settings.ts";

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
export function unusedSettings(config: Config): readonly string[] {
  if (!config.get("capabilities.memory_store")) return switchedOffSettings(config);
  const countsOnly =
    config.given("embeddings.provider") === "local" && config.get("memory.store") === "sqlite";
  return [
    ...switchedOffSettings(config),
    ...unmet(OTHERS, config),
    ...(countsOnly
      ? [
          'embeddings.provider = "local" changes nothing with memory.store = "sqlite", whose index counts words itself. "fast", "openai" and "ollama" add the search by meaning.',
        ]
      : []),
  ];
}

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
export function listed(names: readonly string[]): string {
  if (names.length > LISTED_MAX)
    return `${names.slice(0, LISTED_MAX).join(", ")} and ${names.length - LISTED_MAX} more`;
  return names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : `${names[0]}`;
}
