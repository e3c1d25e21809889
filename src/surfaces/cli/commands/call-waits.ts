import { toolUses } from "../../../core/message.ts";
import type { SessionService } from "../../../core/session-service.ts";

/** Whether the last answer of a session made calls that have no results: they wait for approval. */
export async function callWaits(
  service: Pick<SessionService, "read">,
  sessionId: string,
): Promise<boolean> {
  const { history } = await service.read({ sessionId });
  const last = history.at(-1);
  return last !== undefined && toolUses(last.message).length > 0;
}
