import { cpSync, existsSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type BuildOptions, build } from "rolldown";
import config from "../../rolldown.config.ts";
import { execFileSync } from "../support/start-process.ts";

// Prepares `npm run test:hosts`: the frameworks' own packages, as pinned in examples/hosts, and beside
// them rkat as it is built now. Tests and examples then find both as a user's program does.

const LAB = "examples/hosts";
const MODULES = join(LAB, "node_modules");

install(LAB);
install(join(LAB, "opencode"));
install("test/hosts/bundlers");
install("bench/hosts/claude");
for (const folder of ["test/hosts", "bench/hosts"]) {
  const link = join(folder, "node_modules");
  if (!existsSync(link)) symlinkSync(join("..", "..", MODULES), link, "junction");
}
const rkat = join(MODULES, "rkat");
rmSync(rkat, { recursive: true, force: true });
for (const part of ["bin", "package.json"]) cpSync(part, join(rkat, part), { recursive: true });
const output = { ...config.output, dir: join(rkat, "dist") };
await build({ ...config, output, logLevel: "silent" } as BuildOptions);

/** Installs what a folder's lock file says, if that is not what it has. */
function install(folder: string): void {
  const lock = join(folder, "package-lock.json");
  const installed = join(folder, "node_modules", ".installed-lock.json");
  const isSame = existsSync(installed) && readFileSync(installed).equals(readFileSync(lock));
  if (isSame) return;
  const args = ["ci", "--prefix", folder, "--no-audit", "--no-fund", "--silent"];
  // It needs the contributor's registry and certificates.
  execFileSync("npm", args, { stdio: "inherit", env: process.env });
  cpSync(lock, installed, { force: true });
}
