import type { Ground, KnowledgeEntry } from "../core/knowledge.ts";
import type { KnowledgeStore } from "../core/knowledge-store.ts";

/** The entries, each rule with its grounds: the author and time of the words that it rests on. */
export async function withGrounds(
  entries: readonly KnowledgeEntry[],
  store: Pick<KnowledgeStore, "read">,
): Promise<readonly KnowledgeEntry[]> {
  const ids = new Set(entries.filter(isRule).flatMap(({ sources = [] }) => sources));
  const sources = ids.size > 0 ? await store.read([...ids]) : [];
  const byId = new Map(sources.map((entry) => [entry.id, entry]));
  return entries.map((entry) => {
    if (!isRule(entry)) return entry;
    const from = entry.sources?.flatMap((id) => byId.get(id) ?? []) ?? [entry];
    return { ...entry, restsOn: from.map(groundOf) };
  });
}

function isRule({ kind }: KnowledgeEntry): boolean {
  return kind === "rule";
}

function groundOf(entry: KnowledgeEntry): Ground {
  const { id, kind, origin, content, reason, sessionId, source, lastTime: time } = entry;
  const where = sessionId !== undefined && source ? { sessionId, seq: source.to } : {};
  return { id, origin, ...where, time, said: kind === "correction" ? (reason ?? "") : content };
}
