import { SessionError } from "../core/errors.ts";
import { Config } from "./config.ts";
import { readConfigFile } from "./read-config-file.ts";
import { type Environment, readVariables } from "./read-variables.ts";

export interface ConfigPlaces {
  /** The user's own `config.toml`. */
  readonly userFile: string;
  /** The project's `.rkat/config.toml`. */
  readonly projectFile: string;
  readonly env: Environment;
}

export interface LoadedConfig {
  /** Defaults, under the user's file, under the project's, under variables. */
  readonly config: Config;
  /** Everything that is wrong, as an `INVALID_CONFIG`; what is wrong is not in `config`. */
  readonly problem: SessionError | undefined;
  /** What was accepted, and what a user should know of it. */
  readonly notes: readonly string[];
}

export async function loadConfig(places: ConfigPlaces): Promise<LoadedConfig> {
  const sources = [
    await readConfigFile(places.userFile, "user"),
    await readConfigFile(places.projectFile, "project"),
    readVariables(places.env),
  ];
  const problems = sources.flatMap((source) => source.problems);
  const notes = sources.flatMap((source) => source.notes ?? []);
  return { config: new Config(sources), problem: problemOf(problems), notes };
}

function problemOf(problems: readonly string[]): SessionError | undefined {
  if (problems.length === 0) return undefined;
  const list = problems.length === 1 ? problems : [`${problems.length} problems:`, ...problems];
  return new SessionError("INVALID_CONFIG", { detail: list.join("\n") });
}
