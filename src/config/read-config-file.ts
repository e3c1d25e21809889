import { readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { errorText } from "../core/errors.ts";
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
import { isOtherSection, meantBy } from "./other-names.ts";
import { parseToml } from "./parse-toml.ts";
import { SETTINGS, settingAt } from "./settings.ts";

const BYTES_MAX = 1_000_000;
/** Of a file with more problems, these are told. */
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
    return {
      owner,
      name: file,
      settings: [],
      problems: [`${file} cannot be read: ${errorText(error)}`],
    };
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
  if (!found.isFile()) throw new Error("it is not a regular file.");
  if (found.size > BYTES_MAX) throw new Error(`it is larger than ${BYTES_MAX} bytes.`);
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
