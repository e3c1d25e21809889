import { join } from "node:path";
import { inject } from "vitest";

const FOLDER = inject("packageFolder");

/** The `rkat` command of the package that was built for these tests. */
export const RKAT = join(FOLDER, "bin/rkat.js");

/** A program of this folder, as it was built. */
export function builtProgram(name: string): string {
  return join(FOLDER, "dist", `${name}.js`);
}
