import type { CarriedSession } from "../coding-agents/carry-over.ts";
import { makeStore } from "../config/store-file.ts";
import { hasCapability, hasStore, type Workspace } from "../config/workspace.ts";
import { SessionError } from "../core/errors.ts";
import type { KnowledgeEntry } from "../core/knowledge.ts";
import type { Message } from "../core/message.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import type { Stores } from "../core/stores.ts";
import { isMemoryBehind } from "../projections/log-projection.ts";
import { type PlainStores, plainStores } from "../stores/sqlite/plain-stores.ts";
import { actingFor, warnOfStore } from "./opened.ts";

// The reads and notes of a coding agent's hook, without loading the agent or the index of memory: people wait for it.

/** The project's stores, without that of memory. */
async function openPlainStores(workspace: Workspace): Promise<PlainStores> {
  const { storeAddress, storeFile } = workspace;
  if (storeAddress !== undefined || !hasStore(workspace)) {
    const { openStores } = await import("./open-stores.ts");
    return await openStores(workspace, "existing");
  }
  warnOfStore(workspace, "existing");
  makeStore(workspace, process.env);
  return plainStores(storeFile);
}

export interface StoredRules {
  readonly rules: readonly KnowledgeEntry[];
  readonly sessions: readonly string[];
}

/**
 * The rules of a project as they are stored. With `folder` they come with what they rest on, and with the sessions that were
 * held there. Undefined when the log has something that could change the rules: then the service makes them.
 */
export async function readRules(
  workspace: Workspace,
  folder: string | undefined,
): Promise<StoredRules | undefined> {
  const stores = await openPlainStores(workspace);
  try {
    const { events, knowledge, sessions } = actingFor(workspace, stores);
    if (await isMemoryBehind(events, workspace.config.get("memory.index"), knowledge)) {
      return undefined;
    }
    const { current, distilled } = await knowledge.revision();
    if (current !== distilled) return undefined;
    const rules = await knowledge.list({ kind: "rule", limit: RULES_MAX });
    if (rules.length === 0 || folder === undefined) return { rules, sessions: [] };
    const { withGrounds } = await import("../knowledge/knowledge-addendum.ts");
    const grounded = await withGrounds(rules, knowledge);
    // A rule that was added by hand rests on no session.
    const isSaid = grounded.some(({ restsOn = [] }) =>
      restsOn.some(({ sessionId }) => sessionId !== undefined),
    );
    const held = isSaid ? await sessions.withSource({ project: folder, own: false }, true) : [];
    return { rules: grounded, sessions: held };
  } finally {
    await stores.close();
  }
}

/**
 * The task record of a session, and the beginning and the end of its history. Undefined when there is
 * no such session.
 */
export async function readLatest(
  workspace: Workspace,
  sessionId: string,
): Promise<CarriedSession | undefined> {
  return await withSession(workspace, sessionId, latestOf);
}

/** What `linesOf` makes of a session for its agent's next window: as an import has kept it, unless the log has moved since. */
export async function readNextWindow(
  workspace: Workspace,
  sessionId: string,
  linesOf: () => Promise<LinesOf>,
): Promise<readonly string[] | undefined> {
  return await withSession(workspace, sessionId, async (snapshot, stores) => {
    if (await isKept(snapshot, stores)) return snapshot.next_window?.lines;
    return (await linesOf())(await latestOf(snapshot, stores));
  });
}

/** Keeps what a session's agent is told in its next window. An agent waits for that text, and not for an import. */
export async function keepNextWindow(
  workspace: Workspace,
  sessionId: string,
  linesOf: () => Promise<LinesOf>,
): Promise<void> {
  await withSession(workspace, sessionId, async (snapshot, stores) => {
    const { events, sessions } = stores;
    const { seq } = snapshot;
    if (await isKept(snapshot, stores)) return;
    const lines = (await linesOf())(await latestOf(snapshot, stores));
    const { newOwner, withLease } = await import("../session/session-lease.ts");
    try {
      // A text may be forgotten meanwhile: then the log has moved.
      await withLease(sessions, sessionId, newOwner(), async (held) => {
        const now = await sessions.load(sessionId);
        if (now?.seq !== seq || (await events.lastSeq(sessionId)) !== seq) return;
        await sessions.save({ ...now, next_window: { seq, lines } }, held);
      });
    } catch (error) {
      if (!SessionError.is(error) || error.code !== "SESSION_BUSY") throw error;
    }
  });
}

type LinesOf = (session: CarriedSession) => readonly string[];
type SessionStores = Pick<Stores, "events" | "sessions">;

async function isKept(
  { id, seq, next_window: next }: SessionSnapshot,
  { events }: SessionStores,
): Promise<boolean> {
  return next?.seq === seq && (await events.lastSeq(id)) === seq;
}

async function latestOf(
  snapshot: SessionSnapshot,
  { events }: SessionStores,
): Promise<CarriedSession> {
  const { latestState } = await import("../session/latest-state.ts");
  const { taskView } = await import("../core/task.ts");
  const { working, history } = await latestState(snapshot, (after, to) =>
    events.read(snapshot.id, after, to),
  );
  return { task: taskView(working.task), history };
}

async function withSession<Result>(
  workspace: Workspace,
  sessionId: string,
  work: (snapshot: SessionSnapshot, stores: SessionStores) => Promise<Result>,
): Promise<Result | undefined> {
  if (!hasCapability(workspace.config, "session-store")) return undefined;
  const stores = await openPlainStores(workspace);
  try {
    const own = actingFor(workspace, stores);
    const snapshot = await own.sessions.load(sessionId);
    return snapshot && (await work(snapshot, own));
  } finally {
    await stores.close();
  }
}

/** Adds notes to a session's task record. False when only the service can do it. */
export async function noteTask(
  workspace: Workspace,
  sessionId: string,
  notes: Readonly<Record<string, string>>,
): Promise<boolean> {
  const { noteTask } = await import("../session/latest-state.ts");
  const stores = await openPlainStores(workspace);
  try {
    return await noteTask(actingFor(workspace, stores), sessionId, notes);
  } finally {
    await stores.close();
  }
}

/** The messages with a marker in the place of each text that was forgotten in this store. */
export async function withoutForgotten(
  workspace: Workspace,
  sessionId: string,
  messages: readonly Message[],
): Promise<readonly Message[]> {
  if (!hasStore(workspace)) return messages;
  const { withoutForgotten } = await import("../import/read-message.ts");
  const stores = await openPlainStores(workspace);
  try {
    const { forgotten } = actingFor(workspace, stores);
    return await withoutForgotten(messages, sessionId, forgotten);
  } finally {
    await stores.close();
  }
}

/** The number of rules in a list without a limit. */
const RULES_MAX = 50;
