import { chmodSync, cpSync, globSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "rolldown";
import type { TestProject } from "vitest/node";
import config, { pageConfig } from "../../rolldown.config.ts";

declare module "vitest" {
  interface ProvidedContext {
    readonly packageFolder: string;
    /** Whether the tests run in their long form. */
    readonly long: boolean;
  }
}

/** Programs that tests start: beside the doors of the package, they share its chunks. */
const PROGRAMS = globSync(
  "test/support/{serve-*,*-until-killed,soak,idle-subscriber,project-files,on-a-full-disk,write-until-full}.ts",
);

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
  // A test runs it under another id.
  chmodSync(folder, 0o755);
  for (const part of ["bin", "package.json"]) cpSync(part, join(folder, part), { recursive: true });
  await bundle(folder);
  project.onTestsRerun(() => bundle(folder));
  project.provide("packageFolder", folder);
  // The code under test starts its threads from here.
  process.env.BUILT_FOR_TESTS = `${pathToFileURL(folder)}/`;
  project.provide("long", project.vite.config.mode === "long");
  // Workers inherit it, and what they start: threads, which begin with sources, strip them once.
  process.env.NODE_COMPILE_CACHE = join(folder, "compile-cache");
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

async function bundle(folder: string): Promise<void> {
  const programs = PROGRAMS.map((file) => [basename(file, ".ts"), file]);
  await build({
    ...config,
    input: Object.fromEntries([...Object.entries(config.input ?? {}), ...programs]),
    output: { ...config.output, dir: join(folder, "dist"), cleanDir: true },
    logLevel: "silent",
  });
  await build({
    ...pageConfig,
    output: { ...pageConfig.output, dir: join(folder, "dist") },
    logLevel: "silent",
  });
}
