import type { SessionService } from "../../../core/session-service.ts";

/** How full a session's window is, as the prompt shows it: `12% `. */
export async function gauge(
  service: Pick<SessionService, "context">,
  sessionId: string,
): Promise<string> {
  const { usedTokens, threshold, contextWindow } = await service.context({ sessionId });
  const most = threshold ?? contextWindow;
  return most === null ? "" : `${Math.round((100 * usedTokens) / most)}% `;
}
