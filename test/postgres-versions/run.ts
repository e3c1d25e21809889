import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { execFileSync, spawnSync } from "../support/start-process.ts";

// `npm run test:postgres`: the laws on each PostgreSQL of package.json beside this file. Debian's own runs in
// `npm test`. The packages need no scripts: the links that one of them would make are made here.

const FOLDER = import.meta.dirname;
const FILES = [
  "test/laws.test.ts",
  "test/memory-laws.test.ts",
  "test/index-stores.test.ts",
  "test/postgres-database.test.ts",
  "test/postgres-events.test.ts",
  "test/postgres-memory.test.ts",
  "test/postgres-partitions.test.ts",
];

const npm = ["ci", "--prefix", FOLDER, "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
// It needs the contributor's registry and certificates.
execFileSync("npm", npm, { stdio: "inherit", env: process.env });
const { dependencies } = JSON.parse(readFileSync(join(FOLDER, "package.json"), "utf8"));
for (const name of Object.keys(dependencies)) {
  // The user who runs the server may not be allowed to enter the checkout.
  const copy = mkdtempSync(join("/tmp", `rkat-${name}-`));
  try {
    execFileSync("chmod", ["755", copy]);
    cpSync(join(FOLDER, "node_modules", name, "native"), join(copy, "native"), { recursive: true });
    link(copy);
    const bin = join(copy, "native/bin");
    process.stdout.write(execFileSync(join(bin, "postgres"), ["--version"]));
    const vitest = ["vitest", "run", ...FILES, "-t", "postgres|PostgreSQL"];
    const { status } = spawnSync("npx", vitest, {
      env: { RKAT_TEST_POSTGRES_PROGRAMS: bin },
      stdio: "inherit",
    });
    if (status !== 0) process.exitCode = 1;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

interface Link {
  readonly source: string;
  readonly target: string;
}

/** Makes the links of a package: a tarball of npm has none. */
function link(folder: string): void {
  const links = readFileSync(join(folder, "native/pg-symlinks.json"), "utf8");
  for (const { source, target } of JSON.parse(links) as readonly Link[]) {
    if (dirname(source) !== dirname(target)) throw new Error(`${target} leaves its folder.`);
    symlinkSync(basename(source), join(folder, target));
  }
}
