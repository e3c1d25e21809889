import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { parse } from "smol-toml";
import { afterAll, expect } from "vitest";
import { configTemplate } from "../../src/config/config-template.ts";
import { loadConfig } from "../../src/config/load-config.ts";
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

fuzz(
  "damaged settings are named as problems, and those that are used are allowed",
  fc.record({
    user: damagedText(FILES),
    project: damagedText(FILES),
    isTrusted: fc.boolean(),
    env,
  }),
  { short: 40, long: 20_000 },
  async ({ user, project, isTrusted, env }) => {
    writeFileSync(userFile, user);
    writeFileSync(projectFile, project);
    const { config, problem, notes } = await loadConfig({ userFile, projectFile, isTrusted, env });
    if (problem) expect(problem.code).toBe("INVALID_CONFIG");
    expect(notes.every((note) => note !== "")).toBe(true);
    for (const key of SETTING_KEYS) {
      if (key.includes("*")) continue;
      const value = config.given(key as never);
      if (value === undefined) continue;
      const { read, write } = SETTINGS[key].kind as SettingKind<unknown>;
      expect(read(parse(`it = ${write(value)}`).it), key).toEqual(value);
    }
    expect(() => JSON.stringify(config.effective)).not.toThrow();
  },
);
