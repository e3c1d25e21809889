import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import { findMcpServers } from "../../src/config/mcp-servers.ts";
import { temporaryFolder } from "../support/obey.ts";
import { execFileSync } from "../support/start-process.ts";
import { sampled } from "../support/trials.ts";

const isUnix = process.platform !== "win32";

/** What a repository, or a mistake, may put where a config file is read. */
const TRAPS: Readonly<Record<string, (file: string) => void>> = {
  "a pipe that nobody writes to": (file) => execFileSync("mkfifo", [file]),
  "a folder": (file) => mkdirSync(file),
  "a device without an end": (file) => symlinkSync("/dev/zero", file),
  "a file of a terabyte": (file) => {
    writeFileSync(file, "");
    truncateSync(file, 2 ** 40);
  },
  "a file that is a little too large": (file) => writeFileSync(file, `#${"x".repeat(1_000_000)}`),
};

/** Texts that are small enough, and keep their reader busy. */
const PUZZLES: Readonly<Record<string, string>> = {
  "one name of 900 kB": `${"a".repeat(900_000)} = 1\n`,
  "one name of 400 000 parts": `${"a.".repeat(400_000)}b = 1\n`,
  "60 000 names": Array.from({ length: 60_000 }, (_, index) => `k${index} = 1\n`).join(""),
  "12 000 providers": Array.from(
    { length: 12_000 },
    (_, index) => `[providers.p${index}]\nbase_url = "http://127.0.0.1:${index}/v1"\n`,
  ).join(""),
  "bad values of 50 000 settings": Array.from(
    { length: 50_000 },
    (_, index) => `"a/${index}"=""\n`,
  ).reduce((text, line) => text + line, "[context_windows]\n"),
  "lists in lists": `a = ${"[".repeat(450_000)}\n`,
  "names of prototypes": '[__proto__]\nmodel = "ollama/x"\n[constructor.prototype]\nx = 1\n',
  "the other bytes of Windows": "m\0o\0d\0e\0l\0 \0=\0 \0'\0a\0/\0b\0'\0\n\0",
  "a zero byte": 'model = "ollama/a"\0\n',
  "a name twice": 'model = "ollama/a"\nmodel = "ollama/b"\n',
};

test.each(Object.entries(PUZZLES).map(([puzzle, text], at) => ({ puzzle, text, at: at % 2 })))(
  "a project's config with $puzzle is read, and told in few words",
  async ({ text, at }) => {
    const folder = await temporaryFolder();
    mkdirSync(join(folder, ".rkat"));
    const places = {
      userFile: join(folder, "user.toml"),
      projectFile: join(folder, ".rkat", "config.toml"),
    };
    writeFileSync(places.projectFile, text);
    for (const isTrusted of sampled([false, true], { of: 2, at }, "attacks")) {
      const { config, problem, notes } = await loadConfig({ ...places, isTrusted, env: {} });
      expect(`${problem?.message}${notes.join("")}`.length).toBeLessThan(10_000);
      expect(config.get("model")).toBe(undefined);
      expect(config.effective().length).toBeGreaterThan(0);
    }
    expect(Object.hasOwn(Object.prototype, "model")).toBe(false);
  },
);

test.runIf(isUnix).each(
  Object.keys(TRAPS).flatMap((trap) => [
    { trap, owner: "project" },
    { trap, owner: "user" },
  ]),
)("$trap as the config of the $owner is refused at once, by name", async ({ trap, owner }) => {
  const folder = await temporaryFolder();
  mkdirSync(join(folder, ".rkat"));
  const places = {
    userFile: join(folder, "user.toml"),
    projectFile: join(folder, ".rkat", "config.toml"),
  };
  const file = owner === "user" ? places.userFile : places.projectFile;
  TRAPS[trap]?.(file);
  for (const isTrusted of [false, true]) {
    const { problem } = await loadConfig({ ...places, isTrusted, env: {} });
    expect(problem).toMatchObject({ code: "INVALID_CONFIG" });
    expect(problem?.message).toContain(file);
    expect(problem?.message).toMatch(/is a link|not a regular file|larger than 1000000 bytes/);
  }
});

/** What may stand in the place of a server in `.mcp.json`. */
const SERVERS: Readonly<Record<string, string>> = {
  "lists in lists": `{"x":${"[".repeat(400_000)}${"]".repeat(400_000)}}`,
  "tables in tables": `{"env":${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}}`,
  "names of prototypes": '{"__proto__":{"command":"node"},"constructor":{"prototype":{}}}',
  "numbers as texts": '{"command":1,"args":{"length":5},"env":[],"headers":"","cwd":null}',
  nothing: "null",
};

test.each(Object.entries(SERVERS))(
  "%s as a server of .mcp.json stop no command",
  async (_, text) => {
    const folder = await temporaryFolder();
    writeFileSync(join(folder, ".mcp.json"), `{"mcpServers":{"theirs":${text}}}`);
    const { config } = await loadConfig({
      projectFile: join(folder, ".rkat", "config.toml"),
      isTrusted: false,
      env: {},
    });
    const dataFolder = join(folder, ".rkat");
    const places = { config, folder, dataFolder, storeFile: join(dataFolder, "rkat.db") };
    expect(findMcpServers(places, {})).toMatchObject([{ state: "wrong" }]);
  },
);
