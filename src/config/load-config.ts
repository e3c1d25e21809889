import { SessionError } from "../core/errors.ts";
import { Config } from "./config.ts";
import { type ConfigSource, dotted } from "./config-source.ts";
import { readConfigFile } from "./read-config-file.ts";
import { type Environment, readVariables } from "./read-variables.ts";
import { SETTINGS } from "./settings.ts";
import { listed, unusedSettings } from "./unused-settings.ts";

export interface ConfigPlaces {
  /** The user's own `config.toml`. Missing without a home. */
  readonly userFile?: string;
  /** The project's `.rkat/config.toml`. */
  readonly projectFile: string;
  /** Whether the user trusts the project's file. */
  readonly isTrusted: boolean;
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
  return configOf([
    ...(places.userFile === undefined ? [] : [await readConfigFile(places.userFile, "user")]),
    await readConfigFile(places.projectFile, places.isTrusted ? "trusted project" : "project"),
    readVariables(places.env),
  ]);
}

/** The settings of all sources, of which later ones win. */
export function configOf(sources: readonly ConfigSource[]): LoadedConfig {
  const problems = sources.flatMap((source) => source.problems);
  const notes = sources.flatMap((source) => source.notes ?? []);
  const config = new Config(sources);
  return {
    config,
    problem: problemOf(problems),
    notes: [...notes, ...ignoredNotes(config), ...unusedSettings(config)],
  };
}

function ignoredNotes({ ignored }: Config): readonly string[] {
  const note = (some: Config["ignored"], why: string) => {
    const keys = [...new Set(some.map(({ path }) => dotted(path)))];
    return some.length === 0 ? [] : [`${some[0]?.origin}: ignored ${listed(keys)}, because ${why}`];
  };
  const isNever = ({ key }: Config["ignored"][number]) => SETTINGS[key].project === "never";
  return [
    ...note(
      ignored.filter((setting) => !isNever(setting)),
      "you do not trust this file. If you wrote it or have read it, run `rkat trust`.",
    ),
    ...note(
      ignored.filter(isNever),
      "it decides where your words go. Only your own config.toml, a variable or a flag can set it.",
    ),
  ];
}

function problemOf(problems: readonly string[]): SessionError | undefined {
  if (problems.length === 0) return undefined;
  const list = problems.length === 1 ? problems : [`${problems.length} problems:`, ...problems];
  return new SessionError("INVALID_CONFIG", { detail: list.join("\n") });
}
