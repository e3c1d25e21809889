import { SessionError } from "../core/errors.ts";
import type { SessionForked } from "../core/event.ts";
import { given } from "../core/fields.ts";
import { newId } from "../core/ids.ts";
import type { ImportBatch } from "../core/import-store.ts";
import type { ForkedSession } from "../core/operations/forks.ts";
import type { CheckedRequest } from "../core/operations.ts";
import { OWN_AGENT } from "../core/session-source.ts";
import { type ReadLog, SessionState } from "../core/session-state.ts";
import { inheritedEvents } from "./inherited-events.ts";
import { LiveSession } from "./live-sessions.ts";
import { type EventIndex, recentChanges } from "./log-index.ts";
import type { ServiceCore } from "./service-core.ts";

/**
 * Begins a session with the history of another one. Both logs say so, in one commit, so that a kill leaves both or
 * neither.
 */
export async function forkSession(
  { work, live, options }: ServiceCore,
  { sessionId, event: asked }: CheckedRequest<"forkSession">,
): Promise<ForkedSession> {
  const { events, sessions } = options.stores;
  const read: ReadLog = (after, to) => events.read(sessionId, after, to);
  return await work.run(sessionId, { archivedToo: true }, async (session) => {
    const { seq } = session.state;
    const event = asked ?? seq;
    if (event > seq) throw notPossible(`The log of the session ends at event ${seq}.`);
    const saved = await sessions.load(sessionId);
    // As the store has it: the session in this process may have what its log must not.
    const now = saved
      ? await SessionState.restore(saved, read)
      : await SessionState.fold(sessionId, read);
    const then = event === seq ? now : await earlierState(now, event, { events, read });
    requireAnswered(then, asked);
    const id = newId();
    // Not later than the fork, so that the session used last is the fork.
    const timestamp_ms = Date.now();
    const begins = await inheritedEvents(createdFrom(then, id, options), then, read);
    const fork = new SessionState(id);
    for (const [index, each] of begins.entries()) {
      fork.apply({ ...each, seq: index + 1, schema_version: 1 });
    }
    const told: SessionForked = { type: "session_forked", fork: id, event };
    const noted = { event_id: newId(), timestamp_ms, event: told };
    now.apply({ ...noted, seq: seq + 1, schema_version: 1 });
    // No snapshot is taken while calls wait: the last one stays.
    const parent = now.openCalls.length > 0 && saved ? saved : now.snapshot();
    await commitAll(options.stores, [
      { sessionId: id, lastSeq: 0, events: begins, snapshot: fork.snapshot(), ids: [] },
      { sessionId, lastSeq: seq, events: [noted], snapshot: parent, ids: [] },
    ]);
    await session.state.catchUp(read);
    live.add(new LiveSession(fork, events));
    const { history, historyTokens } = fork;
    return { sessionId: id, event, messages: history.length, historyTokens };
  });
}

/** The session after an earlier event. It reads what the model saw then, and the log since the compaction before. */
async function earlierState(
  now: SessionState,
  toSeq: number,
  { events, read }: { readonly events: EventIndex; readonly read: ReadLog },
): Promise<SessionState> {
  let since: number | undefined;
  for await (const changes of recentChanges(events, { sessionId: now.id, afterSeq: 0, toSeq })) {
    since = changes.inForce().at(-1);
    if (since !== undefined) break;
  }
  return await now.earlier(toSeq, since, read);
}

/**
 * Appends to logs, and saves the snapshots that belong to them, in one commit. Stores without `imports` commit one after
 * the other: a kill may leave a fork that the other session does not name, or a log without its snapshot.
 */
export async function commitAll(
  { events, sessions, imports }: ServiceCore["options"]["stores"],
  batches: readonly ImportBatch[],
): Promise<void> {
  if (imports) return void (await imports.commit(batches));
  for (const { sessionId, lastSeq, events: added, snapshot } of batches) {
    await events.append(sessionId, lastSeq, added);
    await sessions.save(snapshot);
  }
}

/** The settings of the other session. What it was allowed to do, it alone is. */
function createdFrom(
  { id: parent, seq: event, settings }: SessionState,
  id: string,
  { heldIn, project }: ServiceCore["options"],
) {
  const held = heldIn?.() ?? given({ project });
  const forkOf = { id: parent, relation: "fork", event } as const;
  const source = { agent: OWN_AGENT, native_id: id, ...held, parent: forkOf };
  return {
    type: "session_created",
    session_id: id,
    settings: { ...settings, source },
  } as const;
}

/** A history must not end with calls that have no results. */
function requireAnswered({ openCalls, history, seq }: SessionState, asked: number | undefined) {
  if (openCalls.length === 0) return;
  if (asked === undefined) throw new SessionError("APPROVAL_REQUIRED");
  const { id: calls = seq, from = seq } = history.at(-1) ?? {};
  throw notPossible(
    `The calls of message ${calls} have no results at event ${seq}.`,
    `Fork at event ${from - 1}, before them, or at the message with their results.`,
  );
}

function notPossible(message: string, hint?: string): SessionError {
  return new SessionError("NOT_POSSIBLE", { message, ...given({ hint }) });
}
