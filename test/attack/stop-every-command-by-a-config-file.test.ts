import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import { temporaryFolder } from "../support/obey.ts";

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
