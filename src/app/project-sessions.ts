import { join } from "node:path";
import { hasCapability, hasStore, type Workspace } from "../config/workspace.ts";
import { SessionError } from "../core/errors.ts";
import { warnedOutages } from "../core/warn.ts";
import { openStores } from "./open-stores.ts";

/**
 * Writes the files of all sessions again from their logs. Returns the folder and the number of sessions.
 *
 * @throws SessionError `SESSION_PERSISTENCE_DISABLED`
 */
export async function projectSessions(
  workspace: Workspace,
): Promise<{ readonly folder: string; readonly sessions: number }> {
  if (workspace.user !== undefined) {
    throw new SessionError("INVALID_PARAMS", {
      message: "The sessions of users are not written as files.",
      hint: "Leave --user out, and RKAT_USER empty, to write those that belong to no user.",
    });
  }
  if (!hasCapability(workspace.config, "session-store")) {
    throw new SessionError("SESSION_PERSISTENCE_DISABLED");
  }
  const [{ SessionFiles }, { ProjectionRunner }, { newOwner, withFilesLease }] = await Promise.all([
    import("../projections/session-files.ts"),
    import("../projections/projection-runner.ts"),
    import("../session/session-lease.ts"),
  ]);
  const stores = await openStores(workspace, "existing");
  try {
    const folder = join(workspace.storePlace.dataFolder, "sessions");
    if (!hasStore(workspace)) return { folder, sessions: 0 };
    const owner = newOwner();
    const files = new SessionFiles(stores.events, folder, (work) =>
      withFilesLease(stores.sessions, owner, work),
    );
    await files.startAgain();
    await new ProjectionRunner(stores.events, [files], warnedOutages).flush();
    return { folder, sessions: files.count };
  } finally {
    await stores.close();
  }
}
