import { globSync, readFileSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { cleanEnvironment, isKept } from "./support/clean-environment.ts";
import { execFile, execFileSync, spawnSync } from "./support/start-process.ts";
import { isNeededBySystem } from "./support/system-environment.ts";

/** What contributors have set for other programs. */
const THEIRS = {
  ALL_PROXY: "http://127.0.0.1:9",
  ANTHROPIC_API_KEY: "theirs",
  DEBUG: "*",
  EDITOR: "theirs",
  FORCE_COLOR: "1",
  GIT_DIR: "/theirs",
  GIT_WORK_TREE: "/theirs",
  NODE_OPTIONS: "--no-warnings",
  NODE_USE_ENV_PROXY: "1",
  PAGER: "theirs",
  PGHOST: "theirs",
  RKAT_STORE: "/theirs",
  XDG_CONFIG_HOME: "/theirs",
  http_proxy: "http://127.0.0.1:9",
  npm_config_registry: "http://127.0.0.1:9",
};

function setTheirs(): void {
  Object.assign(process.env, THEIRS);
  onTestFinished(() => {
    for (const name of Object.keys(THEIRS)) delete process.env[name];
  });
}

test("a started process has what the system needs and what its test gives it, and nothing else", async () => {
  setTheirs();
  const tell = "process.stdout.write(JSON.stringify(process.env))";
  const args = ["-e", tell];
  const given = { env: { RKAT_MODEL: "given", TZ: undefined } };
  const printed = [
    execFileSync(process.execPath, args, given),
    spawnSync(process.execPath, args, given).stdout,
    (await promisify(execFile)(process.execPath, args, given)).stdout,
  ];
  const ours = ["RKAT_MODEL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL"];
  for (const text of printed) {
    const env = JSON.parse(String(text));
    expect(env).toMatchObject({ RKAT_MODEL: "given", PATH: process.env.PATH, HOME: homedir() });
    const names = Object.keys(env).filter((name) => !ours.includes(name));
    expect(names.filter((name) => !isNeededBySystem(name))).toEqual([]);
    expect(names).not.toContain("TZ");
  }
});

test("the tests' own process has none of it, and a home that is not the contributor's", () => {
  setTheirs();
  cleanEnvironment();
  expect(Object.keys(process.env).filter((name) => name in THEIRS || !isKept(name))).toEqual([]);
  expect(homedir()).not.toBe(userInfo().homedir);
});

/** The files that may, each with the reason. */
const ALLOWED: Readonly<Record<string, string>> = {
  ".ci/smoke.mjs": "is copied to a folder that has only the package",
  "test/clean-environment.test.ts": "looks at it",
  "test/hosts/install.ts": "npm needs the contributor's registry, proxy and certificates",
  "test/postgres-versions/run.ts": "npm needs the contributor's registry, proxy and certificates",
  "test/support/clean-environment.ts": "cleans it",
  "test/support/own-environment.ts": "adds to it",
  "test/support/watch-children.ts": "watches what they print",
  "test/support/start-process.ts": "starts the processes of all others",
  "test/support/system-environment.ts": "chooses from it",
  "test/support/serve-commands.ts": "replaces its own environment by a command's",
  "demo/run.ts": "is a program that a person runs with settings of theirs",
};

test("no other file starts a process by itself, or hands its whole environment on", () => {
  const files = globSync("{.ci,test,bench,examples,demo}/**/*.{ts,js,mjs}", {
    exclude: (path) => path.includes("node_modules"),
  });
  const found = [...files, ...globSync("src/**/*.test.ts")].filter((file) => {
    const source = readFileSync(file, "utf8");
    return /["'](?:node:)?child_process["']|(?<!\} = )process\.env(?![.\w])|\benv\b.*\bnode:process/.test(
      source,
    );
  });
  expect(found.sort()).toEqual(Object.keys(ALLOWED).sort());
});
