import { SessionError } from "../core/errors.ts";
import { isUsersWord } from "../core/event.ts";
import {
  areBothKept,
  type KeptBeside,
  type MemoryEntry,
  type MemoryStore,
} from "../core/memory-store.ts";
import type { KeepBoth } from "../core/operations/memory.ts";
import type { Given } from "../core/operations/parse-request.ts";
import type { ProjectKnowledge } from "../knowledge/project-knowledge.ts";
import { KEEPS_MAX, mark, marksOf, unknownEntry } from "./edit-note.ts";

/**
 * Decides that neither of two entries replaces the other, or takes that back. The decision stands in the first of them
 * with its time, and stays there when it is taken back, so memory as of a time knows it. Either of the two may have it.
 *
 * @throws SessionError `KNOWLEDGE_NOT_FOUND`; `NOT_POSSIBLE` when a model asks, or both are the same
 */
export async function keepBoth(
  { ids, undo = false, origin }: Given<KeepBoth>,
  memory: MemoryStore,
  project: ProjectKnowledge | undefined,
): Promise<MemoryEntry> {
  const [first = "", second = ""] = ids;
  if (!isUsersWord(origin)) {
    throw new SessionError("NOT_POSSIBLE", {
      message: "Only the user decides what holds.",
      hint: `Ask the user to run: rkat memory keep-both ${undo ? "--undo " : ""}${first} ${second}`,
    });
  }
  if (first === second) {
    throw new SessionError("NOT_POSSIBLE", { message: "Both ids are those of one entry." });
  }
  const [one, other] = [await entryOf(first, memory), await entryOf(second, memory)];
  const now = new Date().toISOString();
  const save = async (entry: MemoryEntry, keeps: readonly KeptBeside[]) => {
    const isLearned = (await project?.store.read([entry.id]))?.length === 1;
    if (isLearned) await project?.keep(entry.id, keeps.slice(-KEEPS_MAX));
    else await mark(entry.id, marksOf({ ...entry, keeps }), memory);
  };
  const end = async (entry: MemoryEntry, about: MemoryEntry) => {
    const isIt = ({ id, until }: KeptBeside) => id === about.id && until === undefined;
    const { keeps = [] } = entry;
    if (!keeps.some(isIt)) return;
    await save(
      entry,
      keeps.map((kept) => (isIt(kept) ? { ...kept, until: now } : kept)),
    );
  };
  if (undo) {
    await end(one, other);
    await end(other, one);
  } else if (!areBothKept(one, other)) {
    await save(one, [...(one.keeps ?? []), { id: other.id, since: now }]);
  }
  return await entryOf(first, memory);
}

async function entryOf(id: string, memory: MemoryStore): Promise<MemoryEntry> {
  const [entry] = await memory.read([id]);
  if (!entry) throw unknownEntry(id);
  return entry;
}
