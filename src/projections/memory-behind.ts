import type { EventStore } from "../core/event-store.ts";
import type { KnowledgeStore } from "../core/knowledge-store.ts";
import type { MemoryScope } from "../core/memory-store.ts";

/** The names of the memory index's checkpoints. A store whose setting changes has a place in the log for each. */
export const MEMORY_INDEX: Readonly<Record<MemoryScope, string>> = {
  all: "memory-of-all",
  discarded: "memory-index",
};

/**
 * Whether the log has events that memory, or the knowledge store, does not have yet.
 *
 * It has a file of its own, because a search asks it every time. The projections take longer to
 * load than a search takes, and are hardly ever needed for it.
 */
export async function isMemoryBehind(
  events: Pick<EventStore, "checkpoint" | "readAll">,
  scope: MemoryScope,
  knowledge?: Pick<KnowledgeStore, "position">,
): Promise<boolean> {
  const memoryAt = await events.checkpoint(MEMORY_INDEX[scope]);
  const knowledgeAt = knowledge ? await knowledge.position() : memoryAt;
  return (await events.readAll(Math.min(memoryAt, knowledgeAt), 1)).length > 0;
}
