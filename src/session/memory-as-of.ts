import { given } from "../core/fields.ts";
import {
  type MemoryEntry,
  type MemoryHit,
  type MemoryPage,
  type MemoryStore,
  marksAt,
  textsAt,
} from "../core/memory-store.ts";
import type { ProjectKnowledge } from "../knowledge/project-knowledge.ts";
import { EphemeralKnowledgeStore } from "../stores/ephemeral/ephemeral-knowledge-store.ts";
import { SimpleMemoryStore } from "../stores/ephemeral/simple-memory-store.ts";
import { instant, timeSpan } from "../text/time/calendar.ts";

const PAGE = 500;

/** The knowledge of a project as it was at a time, in stores for one question. */
export async function knowledgeAsOf(
  ms: number,
  project: ProjectKnowledge,
  memory: MemoryStore = new SimpleMemoryStore(),
): Promise<ProjectKnowledge> {
  return await project.asOf(ms, { store: new EphemeralKnowledgeStore(), memory });
}

/**
 * A memory as it was at a time, in Unix milliseconds:
 *
 *     said since            not there
 *     edited since          with the text that it had
 *     learned               as it was known then, with the rules that followed from that
 *     forgotten, deleted    not there
 *
 * Entries that have not changed are read in the memory that there is. The others are put into one beside it, for this question.
 */
export async function memoryAsOf(
  ms: number,
  memory: MemoryStore,
  project: ProjectKnowledge | undefined,
): Promise<Pick<MemoryStore, "search" | "list" | "read">> {
  const changed = new SimpleMemoryStore();
  /** Ids of what the project knows now that was not known so. */
  const others = new Set<string>();
  if (project) {
    const then = await (await knowledgeAsOf(ms, project, changed)).all();
    const known = new Map(then.map((entry) => [entry.id, entry]));
    for (const { id, content, lastTime } of await project.all()) {
      const was = known.get(id);
      if (was?.content === content && was.lastTime === lastTime)
        await changed.delete({ ids: [id] });
      else others.add(id);
    }
  }
  await changed.add(await editedSince(ms, memory));
  const isThere = ({ id, time }: MemoryEntry) => instant(time) <= ms && !others.has(id);
  const then = ({ earlier, keeps, ...entry }: MemoryEntry): MemoryEntry => ({
    ...entry,
    ...marksAt(given({ earlier, keeps }), ms),
  });
  const untilThen = <Query extends { readonly until?: string }>(query: Query): Query =>
    timeSpan(query).until <= ms ? query : { ...query, until: new Date(ms).toISOString() };
  const around = (hit: MemoryHit): MemoryHit => {
    const { neighbours } = hit;
    if (!neighbours) return hit;
    const [before, after] = [neighbours.before.filter(isThere), neighbours.after.filter(isThere)];
    return { ...hit, neighbours: { before, after } };
  };

  async function* listed(page: MemoryPage): AsyncIterable<MemoryEntry> {
    for (let { after } = page; ; ) {
      const { after: _, ...rest } = untilThen(page);
      const found = await memory.list({ ...rest, ...(after === undefined ? {} : { after }) });
      yield* found.filter(isThere).map(then);
      after = found.at(-1)?.id;
      if (found.length < page.limit || after === undefined) return;
    }
  }

  return {
    async search(query) {
      const limit = query.limit === 0 ? 0 : query.limit + others.size;
      const found = (await memory.search(untilThen({ ...query, limit }))).filter(isThere);
      const more = await changed.search(query);
      return [...found.map((hit) => then(around(hit)) as MemoryHit), ...more]
        .sort((one, other) => other.score - one.score)
        .slice(0, query.limit);
    },
    async read(ids) {
      const found = (await memory.read(ids)).filter(isThere).map(then);
      return [...found, ...(await changed.read(ids))];
    },
    // Entries that have changed come after the others.
    async list(page) {
      const { after, ...rest } = page;
      const isChanged = after !== undefined && (await changed.read([after])).length > 0;
      const found: MemoryEntry[] = [];
      if (!isChanged) {
        for await (const entry of listed(page)) {
          if (found.length === page.limit) return found;
          found.push(entry);
        }
      }
      const limit = page.limit - found.length;
      const more = await changed.list(isChanged ? { ...page, limit } : { ...rest, limit });
      return [...found, ...more];
    },
  };
}

/** The texts that notes had then and have no more. */
async function editedSince(ms: number, memory: MemoryStore): Promise<readonly MemoryEntry[]> {
  const texts: MemoryEntry[] = [];
  for (let after: string | undefined; ; ) {
    const page = await memory.list({
      marked: true,
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    });
    for (const { earlier = [], keeps, time: _, pinned: __, ...entry } of page) {
      for (const { id, content, time } of textsAt(earlier, ms)) {
        texts.push({ ...entry, id, content, ...given({ time }), ...marksAt(given({ keeps }), ms) });
      }
    }
    after = page.at(-1)?.id;
    if (page.length < PAGE || after === undefined) return texts;
  }
}
