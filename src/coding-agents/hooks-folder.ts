import { join } from "node:path";
import { ownFolder } from "../config/config-places.ts";
import type { Environment } from "../config/config-source.ts";

/** Your private folder for what hooks keep between their runs. Undefined without a home. */
export function hooksFolder(env: Environment): string | undefined {
  const own = ownFolder(env);
  return own && join(own, "hooks");
}

/** The file with the last failure of an import, for `rkat doctor`. */
export function failedFile(env: Environment): string | undefined {
  const folder = hooksFolder(env);
  return folder && join(folder, "failed.txt");
}
