import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type AllowedCalls, covers, type ProjectApprovals } from "../core/approval.ts";
import type { Environment } from "./read-variables.ts";
import { type TrustedPlaces, trustFolder } from "./trust.ts";

/** What you allowed for good in a project, and can take back. */
export interface OwnApprovals extends ProjectApprovals {
  /** Returns the calls that are no longer allowed. */
  revoke(calls: AllowedCalls): readonly AllowedCalls[];
}

/**
 * The calls that you allowed "always, in this project". They are stored where trust is, outside of the
 * project, so a repository cannot bring any. `rkat trust --revoke` removes them too.
 */
export function projectApprovals(places: TrustedPlaces, env: Environment): OwnApprovals {
  const folder = trustFolder(places, env);
  const file = folder && join(folder, "approvals.json");
  const list = () => (file === undefined ? [] : readList(file));
  const save = (allowed: readonly AllowedCalls[]) => {
    if (file === undefined) throw new Error(`${places.folder} has no place for approvals.`);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const unfinished = `${file}.${crypto.randomUUID()}`;
    writeFileSync(unfinished, `${JSON.stringify(allowed, null, 2)}\n`, { mode: 0o600, flag: "wx" });
    renameSync(unfinished, file);
  };
  return {
    list,
    add(calls) {
      const known = list();
      if (!known.some((other) => covers(other, calls))) save([...known, calls]);
    },
    revoke(calls) {
      const known = list();
      const gone = known.filter((other) => covers(calls, other));
      if (gone.length > 0) save(known.filter((other) => !covers(calls, other)));
      return gone;
    },
  };
}

/** A file that cannot be read allows nothing. */
function readList(file: string): readonly AllowedCalls[] {
  try {
    const found: unknown = JSON.parse(readFileSync(file, "utf8"));
    return Array.isArray(found) ? found.filter(isAllowedCalls) : [];
  } catch {
    return [];
  }
}

function isAllowedCalls(value: unknown): value is AllowedCalls {
  if (typeof value !== "object" || value === null) return false;
  const { tool, command } = value as Partial<AllowedCalls>;
  return typeof tool === "string" && (command === undefined || typeof command === "string");
}
