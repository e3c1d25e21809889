import { isDeepStrictEqual } from "node:util";
import { given } from "../core/fields.ts";
import type { KnowledgeStore } from "../core/knowledge-store.ts";
import type { MemoryEntry, MemoryStore } from "../core/memory-store.ts";
import { redactEntries } from "../secrets/redact-secrets.ts";

const PAGE = 200;

export interface MemoryCopy {
  /** Entries that both memories have now. */
  readonly entries: number;
  /** How many of them were missing there, or different. */
  readonly changed: number;
}

/**
 * Copies the entries of a memory, with their ids. Those of the knowledge store are left out: the other
 * store adds its own when it hears of its knowledge.
 */
export async function copyMemory(
  from: { readonly memory: MemoryStore; readonly knowledge: KnowledgeStore },
  to: MemoryStore,
  { signal, copied }: { readonly signal?: AbortSignal; readonly copied: (entries: number) => void },
): Promise<MemoryCopy> {
  let entries = 0;
  let changed = 0;
  for (let after: string | undefined; ; ) {
    signal?.throwIfAborted();
    const page = await from.memory.list({ limit: PAGE, ...given({ after }) });
    if (page.length === 0) return { entries, changed };
    after = page.at(-1)?.id;
    const own = redactEntries(await withoutKnowledge(page, from.knowledge));
    const there = new Map((await to.read(own.map(({ id }) => id))).map((one) => [one.id, one]));
    const missing = own.filter((entry) => !isDeepStrictEqual(there.get(entry.id), entry));
    const old = missing.filter(({ id }) => there.has(id));
    if (old.length > 0) await to.delete({ ids: old.map(({ id }) => id) });
    if (missing.length > 0) await to.add(missing);
    entries += own.length;
    changed += missing.length;
    copied(own.length);
  }
}

async function withoutKnowledge(
  page: readonly MemoryEntry[],
  knowledge: KnowledgeStore,
): Promise<readonly MemoryEntry[]> {
  const learned = page.filter(({ kind }) => kind !== "message").map(({ id }) => id);
  const known = new Set((await knowledge.read(learned)).map(({ id }) => id));
  return page.filter(({ id }) => !known.has(id));
}
