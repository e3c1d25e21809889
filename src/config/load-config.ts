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
  /** The address of a database that a flag named. */
  readonly store?: string;
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
  const sources = [
    ...(places.userFile === undefined ? [] : [await readConfigFile(places.userFile, "user")]),
    await readConfigFile(places.projectFile, places.isTrusted ? "trusted project" : "project"),
    readVariables(places.env),
  ];
  return configOf(sources, places.store);
}

/** The settings of all sources, of which later ones win. */
export function configOf(sources: readonly ConfigSource[], store?: string): LoadedConfig {
  const problems = sources.flatMap((source) => source.problems);
  const notes = sources.flatMap((source) => source.notes ?? []);
  const config = new Config(sources, store);
  return {
    config,
    problem: problemOf(problems),
    notes: [
      ...notes,
      ...ignoredNotes(
        config,
        sources.some(({ owner }) => owner === "trusted project"),
      ),
      ...unusedSettings(config),
    ],
  };
}

function ignoredNotes({ ignored }: Config, isTrusted: boolean): readonly string[] {
  const note = (some: Config["ignored"], why: string) => {
    const keys = [...new Set(some.map(({ path }) => dotted(path)))];
    return some.length === 0 ? [] : [`${some[0]?.origin}: ignored ${listed(keys)}, because ${why}`];
  };
  if (isTrusted) return note(ignored, SHARED);
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

const SHARED =
  "the store is a database that other projects may share, and it would delete what they keep. Only your own config.toml or a variable can set it.";

function problemOf(problems: readonly string[]): SessionError | undefined {
  if (problems.length === 0) return undefined;
  const list = problems.length === 1 ? problems : [`${problems.length} problems:`, ...problems];
  return new SessionError("INVALID_CONFIG", { detail: list.join("\n") });
}
