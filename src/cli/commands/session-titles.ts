import { FIRST_EVENTS, firstPromptOf } from "../../core/first-prompt.ts";
import type { SessionSummary } from "../../core/operations/sessions.ts";
import type { SessionService } from "../../core/session-service.ts";

/** More than any terminal shows of a title. */
const TITLE_MAX = 400;

/** The sessions with a title each, if anything tells one: those without a title have their first prompt. */
export async function withTitles(
  service: SessionService,
  sessions: readonly SessionSummary[],
): Promise<readonly SessionSummary[]> {
  const titled: SessionSummary[] = [];
  for (const session of sessions) {
    const { sessionId, source, deletedAt } = session;
    // The log of a deleted session cannot be read.
    const page =
      source.title || deletedAt
        ? undefined
        : await service.readLog({ sessionId, afterSeq: 0, limit: FIRST_EVENTS }).catch(() => {});
    const title = firstPromptOf(page?.events ?? [])?.slice(0, TITLE_MAX);
    titled.push(title ? { ...session, source: { ...source, title } } : session);
  }
  return titled;
}
