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

/** With this environment, a program and its children that import "rkat" get the built package. */
export const IMPORTS_BUILT_PACKAGE = {
  NODE_OPTIONS: `--import=${HOOK.href} --disable-warning=ExperimentalWarning`,
} as const;
