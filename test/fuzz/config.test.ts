import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { parse } from "smol-toml";
import { afterAll, expect } from "vitest";
import { configTemplate } from "../../src/cli/commands/settings-commands.ts";
import { type Environment, readVariables } from "../../src/config/config-source.ts";
import { configOf, type LoadedConfig, loadConfig } from "../../src/config/load-config.ts";
import { readConfigText } from "../../src/config/read-config-file.ts";
import type { SettingKind } from "../../src/config/setting-kind.ts";
import { SETTING_KEYS, SETTINGS } from "../../src/config/settings.ts";
import { damagedText, fuzz } from "../support/fuzz.ts";

const folder = mkdtempSync(join(tmpdir(), "rkat-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const [userFile, projectFile] = [
  join(folder, "config.toml"),
  join(folder, "project", ".rkat", "config.toml"),
];
mkdirSync(join(projectFile, ".."), { recursive: true });

const FILES = [
  configTemplate(),
  configTemplate().replaceAll(/^# (?=\[|\w+ = )/gm, ""),
  'model = "ollama/tiny"\n[providers.ollama]\nbase_url = "http://127.0.0.1:11434/v1"\n',
  '[tools.policy]\n"memory_*" = "deny"\n[context_windows]\n"openai/gpt-5" = 400_000\n',
  "[compaction]\nrecent_turn_budget = 4\n[memory]\nwindow_size = 20\n[capabilities]\nmemory_store = false\n",
];

const variable = fc
  .constantFrom(...SETTING_KEYS)
  .map((key) => `RKAT_${key.toUpperCase().replaceAll(".", "__").replaceAll("*", "x")}`);
const env = fc.dictionary(
  fc.oneof(variable, damagedText(["RKAT_MODEL"])),
  damagedText([
    "4",
    "true",
    "0.5",
    "openai/gpt-5",
    "http://127.0.0.1:1/v1",
    "30s",
    "constructor",
    "__proto__",
  ]).map((text) => text.toWellFormed()),
  { maxKeys: 3, noNullPrototype: true },
);

// No file is read as anything else.
const text = damagedText(FILES).map((damaged) => damaged.toWellFormed());
const settings = fc.record({ user: text, project: text, isTrusted: fc.boolean(), env });

interface Given {
  readonly user: string;
  readonly project: string;
  readonly isTrusted: boolean;
  readonly env: Environment;
}

async function configOfTexts({ user, project, isTrusted, env }: Given): Promise<LoadedConfig> {
  const owner = isTrusted ? "trusted project" : "project";
  return configOf([
    await readConfigText(userFile, "user", user),
    await readConfigText(projectFile, owner, project),
    readVariables(env),
  ]);
}

function requireAllowed({ config, problem, notes }: LoadedConfig): void {
  if (problem) expect(problem.code).toBe("INVALID_CONFIG");
  expect(notes).not.toContain("");
  for (const key of SETTING_KEYS) {
    if (key.includes("*")) continue;
    const value = config.given(key as never);
    if (value === undefined) continue;
    const { read, write } = SETTINGS[key].kind as SettingKind<unknown>;
    const again = read(parse(`it = ${write(value)}`).it);
    if (!isDeepStrictEqual(again, value)) expect(again, key).toEqual(value);
  }
  JSON.stringify(config.effective());
}

fuzz(
  "damaged settings are named as problems, and those that are used are allowed",
  settings,
  { short: 40, long: 1_000_000 },
  async (given) => requireAllowed(await configOfTexts(given)),
);

fuzz(
  "damaged files of settings are read as their texts are",
  settings,
  { short: 20, long: 20_000 },
  async (given) => {
    writeFileSync(userFile, given.user);
    writeFileSync(projectFile, given.project);
    const { isTrusted, env } = given;
    const ofFiles = await loadConfig({ userFile, projectFile, isTrusted, env });
    const ofTexts = await configOfTexts(given);
    expect(ofFiles.config.effective()).toEqual(ofTexts.config.effective());
    expect([ofFiles.problem?.message, ofFiles.notes]).toEqual([
      ofTexts.problem?.message,
      ofTexts.notes,
    ]);
  },
);
