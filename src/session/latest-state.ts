import type { SessionSnapshot } from "../core/session-snapshot.ts";
import { SessionState } from "../core/session-state.ts";

/** Events that are read: those that a session began with, and the last ones. */
const EVENTS = { first: 10, last: 1000 } as const;

/**
 * A session as it is now, with only the beginning and the end of its history. So the cost does not
 * depend on the session's length. Take no snapshot of it.
 */
export function latestState(
  snapshot: SessionSnapshot,
  read: Parameters<typeof SessionState.restore>[1],
): Promise<SessionState> {
  const after = snapshot.seq - EVENTS.last;
  if (after <= EVENTS.first) return SessionState.restore(snapshot, read);
  const history = snapshot.history.flatMap((run) =>
    [
      { ...run, to: Math.min(run.to, EVENTS.first) },
      { ...run, from: Math.max(run.from, after + 1) },
    ].filter(({ from, to }) => from <= to),
  );
  return SessionState.restore({ ...snapshot, history, summary: null }, read);
}
