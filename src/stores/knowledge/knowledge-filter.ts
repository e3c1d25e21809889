import type { KnowledgeEntry } from "../../core/knowledge.ts";
import type { KnowledgePage } from "../../core/knowledge-store.ts";

/** Whether an entry meets the conditions of a page. */
export function knowledgeFilter({
  kind,
  pinned,
  tag,
  query = "",
}: KnowledgePage): (entry: KnowledgeEntry) => boolean {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return (entry) =>
    (kind === undefined || entry.kind === kind) &&
    (pinned === undefined || entry.pinned === pinned) &&
    (tag === undefined || entry.tags.includes(tag)) &&
    words.every((word) => entry.content.toLowerCase().includes(word));
}
