import type { EventStore } from "../core/event-store.ts";
import type { KnowledgeStore } from "../core/knowledge-store.ts";

/** The name under which memory's place in the log is kept. */
export const MEMORY_INDEX = "memory-index";

/**
 * Whether the log has events that memory, or what the project has learned, has yet to get.
 *
 * It stands alone so that a search can ask: what would bring them over takes longer to load
 * than a search takes, and nearly always there is nothing to bring.
 */
export async function isMemoryBehind(
  events: Pick<EventStore, "checkpoint" | "readAll">,
  knowledge?: Pick<KnowledgeStore, "position">,
): Promise<boolean> {
  const memoryAt = await events.checkpoint(MEMORY_INDEX);
  const knowledgeAt = knowledge ? await knowledge.position() : memoryAt;
  return (await events.readAll(Math.min(memoryAt, knowledgeAt), 1)).length > 0;
}
