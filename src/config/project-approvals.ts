import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type AllowedCalls, covers, type ProjectApprovals } from "../core/approval.ts";
import { SessionError } from "../core/errors.ts";
import { exactlyAllowed } from "../core/options.ts";
import { makeFolders } from "../files/make-folders.ts";
import { SET_HOME } from "./config-places.ts";
import type { Environment } from "./config-source.ts";
import { type TrustedPlaces, trustFolder } from "./trust.ts";

/** The calls that you allowed for good in a project, and can take back. */
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
    if (file === undefined) throw notKept();
    const unfinished = `${file}.${crypto.randomUUID()}`;
    try {
      makeFolders(dirname(file), 0o700);
      const text = `${JSON.stringify(allowed, null, 2)}\n`;
      writeFileSync(unfinished, text, { mode: 0o600, flag: "wx" });
      renameSync(unfinished, file);
    } catch (error) {
      throw notKept(error);
    }
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

function notKept(cause?: unknown): SessionError {
  const why = cause === undefined ? "There is no home folder." : SessionError.from(cause).message;
  return new SessionError("NOT_POSSIBLE", {
    message: `What you allow for good cannot be kept, so it holds for this session. ${why}`,
    hint: SET_HOME,
    cause,
  });
}

/** A file that cannot be read allows nothing. */
function readList(file: string): readonly AllowedCalls[] {
  try {
    const found: unknown = JSON.parse(readFileSync(file, "utf8"));
    return Array.isArray(found) ? found.flatMap((calls) => exactlyAllowed(calls) ?? []) : [];
  } catch {
    return [];
  }
}
