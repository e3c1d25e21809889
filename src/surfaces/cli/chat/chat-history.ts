import { contentText, isSummary } from "../../../core/message.ts";
import type { SessionService } from "../../../core/session-service.ts";

const SESSIONS = 5;
const LINES_MAX = 1000;

/**
 * What was asked in the last sessions of the project, the last line first. The logs
 * have it already, so no file of its own has to keep it, or to forget it.
 */
export async function askedBefore(
  service: Pick<SessionService, "list" | "read">,
): Promise<readonly string[]> {
  const sessions = await service.list({ limit: SESSIONS });
  const views = await Promise.all(sessions.map(({ sessionId }) => service.read({ sessionId })));
  const prompts = views.flatMap(({ history }) =>
    history
      .flatMap(({ message }) =>
        message.role === "user" && !isSummary(message) ? [contentText(message.content)] : [],
      )
      .reverse(),
  );
  return prompts.flatMap((prompt) => prompt.split("\n").reverse()).slice(0, LINES_MAX);
}
