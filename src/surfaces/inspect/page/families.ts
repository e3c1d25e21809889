import type { SessionSummary } from "../../../core/operations/sessions.ts";
import type { Wire } from "./wire.ts";

type Summary = Wire<SessionSummary>;

/** A session, and how far below the first of its family it is. */
export interface Relative {
  readonly session: Summary;
  readonly depth: number;
}

/**
 * Sessions with their children below them: subagents and forks. A family is where its session is that was used last.
 * Each session is there once, also where two name each other as their parent.
 */
export function inFamilies(sessions: readonly Summary[]): readonly Relative[] {
  const byId = new Map(sessions.map((session) => [session.session_id, session]));
  const children = new Map<string, Summary[]>();
  for (const session of sessions) {
    const parent = session.source.parent?.id;
    if (parent === undefined || !byId.has(parent)) continue;
    const known = children.get(parent);
    if (known) known.push(session);
    else children.set(parent, [session]);
  }
  const placed: Relative[] = [];
  const seen = new Set<Summary>();
  for (const session of sessions) {
    if (seen.has(session)) continue;
    const next: Relative[] = [{ session: firstOf(session, byId), depth: 0 }];
    for (let one = next.pop(); one; one = next.pop()) {
      if (seen.has(one.session)) continue;
      seen.add(one.session);
      placed.push(one);
      const { depth } = one;
      for (const child of children.get(one.session.session_id)?.toReversed() ?? [])
        next.push({ session: child, depth: depth + 1 });
    }
  }
  return placed;
}

function firstOf(session: Summary, byId: ReadonlyMap<string, Summary>): Summary {
  const line = new Set([session]);
  for (const one of line) {
    const parent = byId.get(one.source.parent?.id ?? "");
    if (!parent) return one;
    if (line.has(parent)) return session;
    line.add(parent);
  }
  return session;
}
