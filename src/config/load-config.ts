import { SessionError } from "../core/errors.ts";
import { Config, type ConfigFacts } from "./config.ts";
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
    notes: [...notes, ...ignoredNotes(config), ...unusedSettings(config)],
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
 * What a project's file sets and you have not trusted, in a sentence with the way out. With `names`, only
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
