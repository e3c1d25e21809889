import type { EventStore, HistoryHit, HistoryQuery } from "../core/event-store.ts";
import { OUTPUTS_SEARCHED } from "../recall/output-records.ts";

/**
 * What tools said in a session up to a time, found by words. Memory has no outputs of an imported session: its log has
 * them, as the tools gave them, so credentials are replaced here.
 */
export async function outputsBefore(
  until: string,
  asked: Pick<HistoryQuery, "query" | "sessionId">,
  events: Pick<EventStore, "search">,
): Promise<readonly HistoryHit[]> {
  const found = await events.search({ ...asked, until, limit: OUTPUTS_SEARCHED });
  const outputs = found.filter(({ role }) => role === "tool");
  if (outputs.length === 0) return [];
  const { redactSecrets } = await import("../secrets/redact-secrets.ts");
  return outputs.map((hit) => ({ ...hit, content: redactSecrets(hit.content) }));
}
