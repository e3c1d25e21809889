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
import { SETTINGS, settingAt } from "./settings.ts";

/** A larger file is not a configuration. */
const BYTES_MAX = 1_000_000;

/**
 * Reads a `config.toml`. A file that is not there says nothing.
 *
 * A project's file comes with the project, perhaps from a stranger: it is read only as a regular
 * file below the project's folder, and what it may set is in `SETTINGS`.
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
  const { parse, TomlError } = await import("smol-toml");
  try {
    return collect(file, owner, parse(text.replace(/^\uFEFF/, "")));
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Its message goes on with an excerpt of the file, which may hold a secret.
    const reason = error.message.split("\n")[0]?.replace(/^Invalid TOML document: /, "");
    const problems = [`${file}, line ${error.line}, column ${error.column}: ${reason}.`];
    return { owner, name: file, settings: [], problems };
  }
}

/** Your own file may be a link: many people keep their settings in a repository. */
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
        if (problem) problems.push(`${file}: ${problem}`);
        // A file that gives both names means ours.
        else if (note) settings.unshift(found);
        else settings.push(found);
      } else if (isGroup && isTable(value)) walk(value, path);
      else if (isGroup) {
        problems.push(`${file}: ${dotted(path)} is a section: write [${dotted(path)}].`);
      } else problems.push(`${file}: ${unknown(path)}`);
    }
  };
  walk(table, []);
  return { owner, name: file, settings, problems, notes };
}

function problemOf(owner: ConfigOwner, path: readonly string[], value: unknown) {
  const key = settingAt(path);
  if (key === undefined) return undefined;
  if (SETTINGS[key].kind.read(value) === undefined) return badValue(dotted(path), key, value);
  if (owner === "trusted project" && key.endsWith(".base_url") && !isThisMachine(String(value))) {
    return `${dotted(path)} names another machine, which a project's file may not: it could send your key there. Put it into your own config.toml (\`rkat config\` says where), or into a variable.`;
  }
  if (
    owner === "trusted project" &&
    key === "search.index_dir" &&
    /^[~/\\]|^\w:|\.\./.test(String(value))
  ) {
    return `${dotted(path)} names a folder outside of the project, which a project's file may not. Put it into your own config.toml, or into a variable.`;
  }
  return undefined;
}

function unknown(path: readonly string[]): string {
  if (/^(api_?key|key|token|secret)$/i.test(path.at(-1) ?? "")) {
    return `${dotted(path)} is not a setting: keys stay out of files. Put the key into an environment variable, and its name into api_key_env.`;
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
