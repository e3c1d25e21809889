import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { build } from "rolldown";
import type { TestProject } from "vitest/node";
import config from "../../rolldown.config.ts";

declare module "vitest" {
  interface ProvidedContext {
    readonly packageFolder: string;
    /** Whether the tests run in their long form. */
    readonly long: boolean;
  }
}

/** Programs that tests start: beside the doors of the package, they share its chunks. */
const PROGRAMS = globSync("test/support/{serve-*,*-until-killed}.ts");

/**
 * Builds the package anew before the tests of a run, in a folder of that run. Tests start processes
 * by the hundred: a bundle starts in a third of the time that Node takes to read the sources, and it
 * is what users start.
 */
export default async function buildPackage(project: TestProject): Promise<() => void> {
  // In here Node finds the dependencies, and nobody looks for files of ours.
  const cache = resolve("node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "rkat-test-"));
  for (const part of ["bin", "package.json"]) cpSync(part, join(folder, part), { recursive: true });
  await bundle(folder);
  project.onTestsRerun(() => bundle(folder));
  project.provide("packageFolder", folder);
  const long = project.vite.config.mode === "long";
  project.provide("long", long);
  const temporary = mkdtempSync(join(long ? tmpdir() : fastFolder(), "rkat-tests-"));
  // Workers inherit it, and what they start: threads, which begin with sources, strip them once.
  process.env.NODE_COMPILE_CACHE = join(folder, "compile-cache");
  process.env.TMPDIR = temporary;
  return () => {
    for (const made of [folder, temporary]) rmSync(made, { recursive: true, force: true });
  };
}

const MEMORY = "/dev/shm";
const MEMORY_BYTES_MIN = 2 ** 30;

/**
 * Where the daily tests keep their files: in memory, if Linux offers enough of it. Each commit waits for a
 * disk otherwise, thousands of times. Files in memory outlive a killed process just as well.
 */
function fastFolder(): string {
  if (!existsSync(MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize < MEMORY_BYTES_MIN ? tmpdir() : MEMORY;
}

async function bundle(folder: string): Promise<void> {
  const programs = PROGRAMS.map((file) => [basename(file, ".ts"), file]);
  await build({
    ...config,
    input: Object.fromEntries([...Object.entries(config.input ?? {}), ...programs]),
    output: { ...config.output, dir: join(folder, "dist"), cleanDir: true },
    logLevel: "silent",
  });
}
