import { SessionError } from "../../../core/errors.ts";
import type { SessionService, SessionSummary } from "../../../core/session-service.ts";

const CANDIDATES_MAX = 5;

/**
 * The session that somebody names: by its id, the beginning of its id, `last`
 * (the one used last) or `~N` (the Nth before that). An archived one goes by its id only.
 *
 * @throws SessionError `SESSION_NOT_FOUND` when there is none, `INVALID_PARAMS` when there are
 *   several, or when the name is empty.
 */
export async function findSession(
  service: SessionService,
  name: string,
  { includeArchived = false } = {},
): Promise<string> {
  // Every id begins with nothing: a variable that a script forgot to set would name a session.
  if (name === "") {
    throw new SessionError("INVALID_PARAMS", {
      detail: "The session's name is empty.",
      hint: "Give an id, the beginning of one, `last` or ~N.",
    });
  }
  const back = name === "last" ? 0 : Number(/^~(\d{1,6})$/.exec(name)?.[1] ?? -1);
  if (back >= 0) {
    const [found] = await service.list({ limit: 1, offset: back });
    if (found) return found.sessionId;
    throw new SessionError("SESSION_NOT_FOUND", { detail: noneBack(back) });
  }
  const found = await service.list({ idPrefix: name, limit: CANDIDATES_MAX, includeArchived });
  const exact =
    found.find(({ sessionId }) => sessionId === name) ?? (found.length === 1 && found[0]);
  if (exact) return exact.sessionId;
  // An id in full may be archived, or newer than the snapshots: the service says what is wrong with it.
  if (found.length === 0) return name;
  throw ambiguous(name, found);
}

function noneBack(back: number): string {
  return back === 0 ? "There is no session yet." : `There are not ${back + 1} sessions.`;
}

function ambiguous(name: string, found: readonly SessionSummary[]): SessionError {
  const ids = found.map(({ sessionId }) => sessionId).join("\n");
  return new SessionError("INVALID_PARAMS", {
    detail: `Several sessions begin with "${name}":\n${ids}`,
    hint: "Give more of the id.",
  });
}
