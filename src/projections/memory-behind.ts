import type { EventStore } from "../core/event-store.ts";
import type { KnowledgeStore } from "../core/knowledge-store.ts";

/** The name of the memory index's checkpoint. */
export const MEMORY_INDEX = "memory-index";

/**
 * Whether the log has events that memory, or the knowledge store, does not have yet.
 *
 * It has a file of its own, because a search asks it every time. The projections take longer to
 * load than a search takes, and are hardly ever needed for it.
 */
export async function isMemoryBehind(
  events: Pick<EventStore, "checkpoint" | "readAll">,
  knowledge?: Pick<KnowledgeStore, "position">,
): Promise<boolean> {
  const memoryAt = await events.checkpoint(MEMORY_INDEX);
  const knowledgeAt = knowledge ? await knowledge.position() : memoryAt;
  return (await events.readAll(Math.min(memoryAt, knowledgeAt), 1)).length > 0;
}
