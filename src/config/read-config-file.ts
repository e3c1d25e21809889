import { readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { fileProblem, messageAndHint, SessionError } from "../core/errors.ts";
import { readSmallFile } from "../files/plain-files.ts";
import {
  badValue,
  type ConfigOwner,
  type ConfigSource,
  dotted,
  type FoundSetting,
  isSection,
  namesAround,
  unknownSetting,
} from "./config-source.ts";
import { SETTINGS, type SettingKey, settingAt } from "./settings.ts";

const BYTES_MAX = 1_000_000;
/** The maximum number of problems that are reported for one file. */
const PROBLEMS_MAX = 20;

/**
 * Reads a `config.toml`. A missing file sets nothing.
 *
 * A project's file may come from a stranger. It must be a regular file below the project's
 * folder, and `SETTINGS` says what it may set.
 */
export async function readConfigFile(file: string, owner: ConfigOwner): Promise<ConfigSource> {
  let text: string | undefined;
  try {
    text =
      owner === "user" ? readOwn(file) : readSmallFile(dirname(dirname(file)), file, BYTES_MAX);
  } catch (error) {
    const why = SessionError.is(error) ? messageAndHint(error) : `${fileProblem(error)}.`;
    const problems = [`${file} cannot be read: ${why}`];
    return { owner, name: file, settings: [], problems };
  }
  if (text === undefined) return { owner, name: file, settings: [], problems: [] };
  return await readConfigText(file, owner, text);
}

/** Reads the text of a `config.toml`. */
export async function readConfigText(
  file: string,
  owner: ConfigOwner,
  text: string,
): Promise<ConfigSource> {
  const parsed = await parseToml(text);
  if ("table" in parsed) return collect(file, owner, parsed.table);
  const { line, column, reason } = parsed;
  const problems = [`${file}, line ${line}, column ${column}: ${reason}.`];
  return { owner, name: file, settings: [], problems };
}

/** The user's own file may be a link, because many people keep their settings in a repository. */
function readOwn(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found) return undefined;
  if (!found.isFile()) throw new Error("it is not a regular file");
  if (found.size > BYTES_MAX) throw new Error(`it is larger than ${BYTES_MAX} bytes`);
  return readFileSync(file, "utf8");
}

type Table = Readonly<Record<string, unknown>>;

function collect(file: string, owner: ConfigOwner, table: Table): ConfigSource {
  const settings: FoundSetting[] = [];
  const problems: string[] = [];
  const notes: string[] = [];
  let untold = 0;
  /** Takes a sentence about the file, which it makes only if it is told: one with a suggestion takes time. */
  const tell = (problem: () => string) => {
    if (problems.length < PROBLEMS_MAX) problems.push(`${file}: ${problem()}`);
    else untold += 1;
  };
  const walk = (inner: Table, prefix: readonly string[]) => {
    for (const [name, given] of Object.entries(inner)) {
      const { path, value, note } = meantBy([...prefix, name], given);
      if (note) notes.push(`${file}: ${note}`);
      if (value === undefined) continue;
      const key = settingAt(path);
      const isGroup = isSection(path) || isOtherSection(path);
      if (key !== undefined) {
        const problem = problemOf(owner, path, value);
        const found = { key, path, value: SETTINGS[key].kind.read(value), origin: file };
        if (problem) tell(() => problem);
        // When a file has both names, ours wins.
        else if (note) settings.unshift(found);
        else settings.push(found);
      } else if (isGroup && isTable(value)) walk(value, path);
      else if (isGroup) {
        tell(() => `${dotted(path)} is a section: write [${dotted(path)}].`);
      } else tell(() => unknown(path));
    }
  };
  walk(table, []);
  if (untold > 0) problems.push(`${file}: ${untold} more problems of this kind.`);
  return { owner, name: file, settings, problems, notes };
}

function problemOf(owner: ConfigOwner, path: readonly string[], value: unknown) {
  const key = settingAt(path);
  if (key === undefined) return undefined;
  if (SETTINGS[key].kind.read(value) === undefined) return badValue(dotted(path), key, value);
  if (owner === "trusted project" && key.endsWith(".base_url") && !isThisMachine(String(value))) {
    return `${dotted(path)} names another machine. A project's file must not, because it could send your key there. Set it in your own config.toml (\`rkat config\` says where), or in a variable.`;
  }
  if (
    owner === "trusted project" &&
    key === "search.index_dir" &&
    /^[~/\\]|^\w:|\.\./.test(String(value))
  ) {
    return `${dotted(path)} names a folder outside of the project. Set it in your own config.toml, or in a variable.`;
  }
  if (owner === "trusted project" && SETTINGS[key].project === "never") {
    return `${dotted(path)} must not be set by a project's file, because it decides where your words go. Set it in your own config.toml (\`rkat config\` says where), or in a variable.`;
  }
  return undefined;
}

function unknown(path: readonly string[]): string {
  if (/^(api_?key|key|token|secret)$/i.test(path.at(-1) ?? "")) {
    return `${dotted(path)} is not a setting, because files must not contain keys. Put the key into an environment variable, and its name into api_key_env.`;
  }
  return unknownSetting(dotted(path), namesAround(path));
}

function isThisMachine(address: string): boolean {
  const { hostname } = new URL(address);
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

function isTable(value: unknown): value is Table {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date)
  );
}

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
interface Meant {
  readonly path: readonly string[];
  readonly value?: unknown;
  /** A note for the user about it. */
  readonly note?: string;
}

function meantBy(path: readonly string[], value: unknown): Meant {
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
function isOtherSection(path: readonly string[]): boolean {
  return (
    path.length === 1 && Object.keys(OTHER_NAMES).some((name) => name.startsWith(`${path[0]}.`))
  );
}

function own<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

export type TomlTable = Readonly<Record<string, unknown>>;

/** The place of an error in a TOML text, and its reason. */
interface TomlProblem {
  readonly line: number;
  readonly column: number;
  /** Without an excerpt of the text, which may contain a secret. */
  readonly reason: string;
}

export async function parseToml(
  text: string,
): Promise<{ readonly table: TomlTable } | TomlProblem> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    return { table: parse(text.replace(/^\uFEFF/, "")) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [reason = ""] = error.message.replace(/^Invalid TOML document: /, "").split("\n");
    const { line, column } = error;
    const there = text.split("\n")[line - 1] ?? "";
    return { line, column, reason: explained(reason, there) };
  }
}

/** The usual mistake of someone who adds a text from elsewhere to a file. */
function explained(reason: string, line: string): string {
  if (!reason.includes("redefine an already defined table")) return reason;
  return line.trimStart().startsWith("[")
    ? "this section is there already. A section can be there only once, so put its settings under the first one"
    : "this setting is there already. A setting can be there only once, so remove one of the two";
}
