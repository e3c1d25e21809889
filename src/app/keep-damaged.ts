import { constants, copyFileSync, existsSync } from "node:fs";
import { requireTrustedStore } from "../config/store-file.ts";
import type { Workspace } from "../config/workspace.ts";
import { SessionError } from "../core/errors.ts";
import { examineStore } from "./examine.ts";

/**
 * Copies a damaged SQLite file, with its log, before anything in it is changed. Returns the path of the copy; undefined
 * when the file is sound.
 *
 * @throws SessionError `STORE_NOT_TRUSTED`, `UNSAFE_FILE`
 * @throws SessionError `SESSION_STORE_ERROR` when nothing is left in it
 */
export async function keepDamaged(workspace: Workspace): Promise<string | undefined> {
  const { storeFile } = workspace.storePlace;
  if (workspace.storeAddress !== undefined || !existsSync(storeFile)) return undefined;
  requireTrustedStore(workspace.storePlace, process.env);
  const [problem] = await examineStore(storeFile);
  if (problem === undefined) return undefined;
  if (problem.startsWith("It is empty")) {
    throw new SessionError("SESSION_STORE_ERROR", {
      message: `${storeFile}: ${problem}`,
      hint: "There is nothing to repair. `rkat restore` makes a store from a backup.",
    });
  }
  const copy = `${storeFile}.damaged-${Date.now()}`;
  for (const end of ["", "-wal"]) {
    if (!existsSync(storeFile + end)) continue;
    copyFileSync(storeFile + end, copy + end, constants.COPYFILE_EXCL);
  }
  return copy;
}
