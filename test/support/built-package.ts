import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { inject } from "vitest";

const FOLDER = inject("packageFolder");

/** The `rkat` command of the package that was built for these tests. */
export const RKAT = join(FOLDER, "bin/rkat.js");

/** A program of this folder, as it was built. */
export function builtProgram(name: string): string {
  return join(FOLDER, "dist", `${name}.js`);
}

const HOOK = pathToFileURL(resolve("test/support/rkat-from-package.ts"));
HOOK.searchParams.set("dist", `${pathToFileURL(FOLDER).href}/dist/`);

/** With these flags of Node, a program that imports "rkat" gets the built package. */
export const IMPORTS_BUILT_PACKAGE = [
  `--import=${HOOK.href}`,
  "--disable-warning=ExperimentalWarning",
] as const;
