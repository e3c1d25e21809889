import type { KnowledgeEntry, NewKnowledge } from "../core/knowledge.ts";

/** Best first: pinned ones, then those heard most often, then the latest. */
export function bySupport(
  one: Pick<NewKnowledge, "pinned" | "count" | "time" | "id">,
  other: Pick<NewKnowledge, "pinned" | "count" | "time" | "id">,
): number {
  return (
    Number(other.pinned ?? false) - Number(one.pinned ?? false) ||
    (other.count ?? 1) - (one.count ?? 1) ||
    (other.time < one.time ? -1 : other.time > one.time ? 1 : one.id < other.id ? -1 : 1)
  );
}

/** Pinned rules first, then those written or edited by hand, then those heard most often. */
export function rankRules(rules: readonly KnowledgeEntry[]): readonly KnowledgeEntry[] {
  const written = ({ origin, edited }: KnowledgeEntry) => Number(origin === "added" || edited);
  return [...rules].sort(
    (one, other) =>
      Number(other.pinned) - Number(one.pinned) ||
      written(other) - written(one) ||
      bySupport({ ...one, time: one.lastTime }, { ...other, time: other.lastTime }),
  );
}
