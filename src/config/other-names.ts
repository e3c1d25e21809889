import type { SettingKey } from "./settings.ts";

/**
 * Names of settings in the programs that this design comes from. Their files can be
 * read, and `rkat config` says how each setting was understood.
 */
const OTHER_NAMES: Readonly<Record<string, SettingKey>> = {
  "embedding.provider": "embeddings.provider",
  "embedding.model": "embeddings.model",
  "embedding.dimensions": "embeddings.dimensions",
  "embedding.batch_size": "embeddings.batch_size",
  "search.index_path": "search.index_dir",
  "memory.enable_persistence": "capabilities.memory_store",
  "knowledge.min_entries_for_distillation": "knowledge.min_entries",
};

/** Settings without an effect here, and why. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  "embedding.cache_embeddings": "the vectors of models are always cached",
  "embeddings.cache_embeddings": "the vectors of models are always cached",
  "search.db_path": "vectors are kept in .rkat/rkat.db, or in search.index_dir",
  "search.vector_dimensions": "the embedder knows them; if not, set embeddings.dimensions",
  "search.full_text_weight": "words and meaning are combined without a weight",
  "search.vector_weight": "words and meaning are combined without a weight",
  "knowledge.knowledge_path": "knowledge is kept in .rkat/rkat.db",
  "memory.persist_path": "memory is kept in .rkat in the folder that --dir names",
  "memory.compression_threshold":
    "compaction.auto_compact_threshold sets, in tokens, when a history is compacted",
};

/** Values with another name, by setting. `undefined` stands for the default. */
const OTHER_VALUES: Readonly<Record<string, Readonly<Record<string, string | undefined>>>> = {
  "embeddings.provider": { fastembed: "fast" },
  "embeddings.dimensions": { "0": undefined },
};

/** An entry of a file with our names. Without a `value` it sets nothing. */
export interface Meant {
  readonly path: readonly string[];
  readonly value?: unknown;
  /** What the user should know about it. */
  readonly note?: string;
}

export function meantBy(path: readonly string[], value: unknown): Meant {
  const name = path.join(".");
  const why = own(WITHOUT_EFFECT, name);
  if (why !== undefined) return { path, note: `${name} has no effect: ${why}.` };
  const key = own(OTHER_NAMES, name) ?? name;
  const values = own(OTHER_VALUES, key) ?? {};
  const spelled = typeof value === "object" ? "" : String(value);
  const isOther = Object.hasOwn(values, spelled);
  const meant = isOther ? values[spelled] : value;
  const said = isOther ? ` = ${meant === undefined ? "its default" : JSON.stringify(meant)}` : "";
  return {
    path: key === name ? path : key.split("."),
    ...(meant === undefined ? {} : { value: meant }),
    ...(key === name && !isOther ? {} : { note: `${name} is read as ${key}${said}.` }),
  };
}

/** Whether a section only exists under the other names. */
export function isOtherSection(path: readonly string[]): boolean {
  return (
    path.length === 1 && Object.keys(OTHER_NAMES).some((name) => name.startsWith(`${path[0]}.`))
  );
}

function own<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
