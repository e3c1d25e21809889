import { join } from "node:path";
import { makeDataFolder } from "../config/store-file.ts";
import { hasCapability, requireStore, type Workspace } from "../config/workspace.ts";
import { SessionError } from "../core/errors.ts";
import type { RepairedEvent } from "../core/event-store.ts";
import type { ReadLog } from "../core/session-state.ts";
import type { Stores } from "../core/stores.ts";
import { warnedOutages } from "../core/warn.ts";
import { openStores } from "./open-stores.ts";

/**
 * Writes the files of all sessions again from their logs. Returns the folder and the number of sessions.
 *
 * @throws SessionError `SESSION_PERSISTENCE_DISABLED`, `NOT_POSSIBLE` when there is no store
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
  requireStore(workspace);
  const [{ SessionFiles }, { ProjectionRunner }, { newOwner, withFilesLease }] = await Promise.all([
    import("../projections/session-files.ts"),
    import("../projections/projection-runner.ts"),
    import("../session/session-lease.ts"),
  ]);
  const stores = await openStores(workspace, "existing");
  try {
    const folder = join(workspace.storePlace.dataFolder, "sessions");
    // A store on a server needs no folder.
    makeDataFolder(workspace.storePlace, process.env);
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

/** The events and snapshots that a repair made readable again. */
export interface RepairedSessions {
  readonly events: readonly RepairedEvent[];
  /** Ids of the sessions whose snapshot was made again from the log. */
  readonly snapshots: readonly string[];
}

/**
 * Makes events of the log readable that are not, and damaged snapshots again. What was left out of memory because of
 * the events is added.
 *
 * @throws SessionError `SESSION_PERSISTENCE_DISABLED`, `NOT_POSSIBLE` when there is no store
 */
export async function repairSessions(workspace: Workspace): Promise<RepairedSessions> {
  if (!hasCapability(workspace.config, "session-store")) {
    throw new SessionError("SESSION_PERSISTENCE_DISABLED");
  }
  const stores = await openStores(workspace, "existing");
  try {
    if (workspace.user !== undefined) return await repairIn(stores.forUser(workspace.user));
    const all = [await repairIn(stores)];
    for (const user of await stores.users()) all.push(await repairIn(stores.forUser(user)));
    return {
      events: all.flatMap(({ events }) => events),
      snapshots: all.flatMap(({ snapshots }) => snapshots),
    };
  } finally {
    await stores.close();
  }
}

async function repairIn({ events, sessions, trash }: Stores): Promise<RepairedSessions> {
  const repaired = (await events.repair?.()) ?? [];
  const { MEMORY_INDEX } = await import("../projections/log-projection.ts");
  // Memory follows the log from its start again, and adds what it lacks.
  const names = repaired.length > 0 ? Object.values(MEMORY_INDEX) : [];
  for (const name of names) await events.saveCheckpoint(name, 0);
  return {
    events: [...repaired, ...((await trash?.events.repair?.()) ?? [])],
    snapshots: [
      ...(await remadeSnapshots({ events, sessions })),
      ...(trash ? await remadeSnapshots(trash) : []),
    ],
  };
}

/** The sessions whose damaged snapshot was made again from the log. */
async function remadeSnapshots({
  events,
  sessions,
}: Pick<Stores, "events" | "sessions">): Promise<readonly string[]> {
  const damaged = (await sessions.damaged?.()) ?? [];
  if (damaged.length === 0) return [];
  const { SessionState } = await import("../core/session-state.ts");
  const remade: string[] = [];
  for (const id of damaged) {
    // Without a log it is the snapshot of nothing.
    if ((await events.lastSeq(id)) === 0) continue;
    const read: ReadLog = (after, to) => events.read(id, after, to);
    const now = await SessionState.fold(id, read);
    // A snapshot is taken between runs.
    const isWhole = !now.running && now.openCalls.length === 0;
    const state = isWhole ? now : await SessionState.fold(id, read, await lastRun(read));
    await sessions.save(state.snapshot());
    remade.push(id);
  }
  return remade;
}

/** The event before the last run. */
async function lastRun(read: ReadLog): Promise<number> {
  let last = 1;
  for await (const { seq, event } of read(0)) {
    if (event.type === "run_started") last = seq - 1;
  }
  return last;
}
