import { SessionError } from "../core/errors.ts";
import { isUsersWord, speakerOf } from "../core/event.ts";
import { given } from "../core/fields.ts";
import {
  areBothKept,
  EARLIER_MAX,
  type EarlierText,
  type EntryMarks,
  type KeptBeside,
  type MemoryEntry,
  type MemoryStore,
  NO_SESSION,
} from "../core/memory-store.ts";
import type { AddMemory, EditMemory, KeepBoth } from "../core/operations/memory.ts";
import type { Given } from "../core/operations/operation.ts";
import { hashOf } from "../knowledge/hash-of.ts";
import type { ProjectKnowledge } from "../knowledge/project-knowledge.ts";

/** Decisions that an entry remembers. */
const KEEPS_MAX = 100;

/**
 * Changes an entry that was added by hand.
 *
 *     pinned     the same entry, with other marks
 *     content    a new entry, since an id is made of its text; then the old one is deleted
 *
 * A kill in between leaves both. The new one names the old one, so the same edit, or `reindex`, ends it.
 *
 * @throws SessionError `KNOWLEDGE_NOT_FOUND`; `NOT_POSSIBLE` for what was said in a session, what was learned, and, when
 *   a model asks, for the user's words and for a pin
 */
export async function editNote(
  { id, content, pinned, origin }: Given<EditMemory>,
  memory: MemoryStore,
): Promise<MemoryEntry> {
  const [before] = await memory.read([id]);
  if (!before) throw unknownEntry(id);
  requireNote(before);
  if (!isUsersWord(origin) && (pinned !== undefined || before.role !== "assistant")) {
    throw notYours(before, pinned);
  }
  const now = new Date().toISOString();
  const isTexts = content !== undefined && content.trim() !== before.content;
  const marks = marksOf({ ...before, ...given({ pinned }) });
  if (!isTexts) {
    await mark(before.id, marks, memory);
    return withMarks(before, marks);
  }
  const after = addedEntry({ content, ...given({ origin: origin && { ...origin, time: now } }) });
  const earlier = [...(before.earlier ?? []), { ...textOf(before), until: now }];
  const changed = withMarks(after, marksOf({ ...marks, earlier }));
  if ((await memory.add([changed])) === 0) await joinInto(changed, memory);
  await memory.delete({ ids: [id] });
  const [stored = changed] = await memory.read([changed.id]);
  return stored;
}

function textOf({ id, content, time }: MemoryEntry) {
  return { id, content, ...given({ time }) };
}

/** The text is there already: it also says what it replaced. */
async function joinInto(
  { id, earlier = [], pinned, keeps = [] }: MemoryEntry,
  memory: MemoryStore,
) {
  const [there] = await memory.read([id]);
  const known = there?.earlier ?? [];
  const isNew = (text: EarlierText) => !known.some((one) => one.id === text.id);
  const marks = {
    earlier: [...known, ...earlier.filter(isNew)],
    pinned: pinned ?? there?.pinned,
    keeps: [...(there?.keeps ?? []), ...keeps],
  };
  await mark(id, marksOf(marks), memory);
}

/** @throws SessionError `NOT_POSSIBLE`, `KNOWLEDGE_NOT_FOUND` */
async function mark(id: string, marks: EntryMarks, memory: MemoryStore): Promise<void> {
  if (!memory.mark) {
    throw new SessionError("NOT_POSSIBLE", {
      message: "This memory store cannot pin or edit entries.",
      hint: "Give it the method `mark`, as the stores of rkat have it.",
    });
  }
  if (!(await memory.mark(id, marks))) throw unknownEntry(id);
}

interface AnyMarks extends Pick<EntryMarks, "earlier" | "keeps"> {
  readonly pinned?: boolean | undefined;
}

/** The marks of an entry, those that are empty left out. */
function marksOf({ pinned = false, earlier = [], keeps = [] }: AnyMarks): EntryMarks {
  return {
    ...(pinned ? { pinned } : {}),
    ...(earlier.length > 0 ? { earlier: earlier.slice(-EARLIER_MAX) } : {}),
    ...(keeps.length > 0 ? { keeps: keeps.slice(-KEEPS_MAX) } : {}),
  };
}

function withMarks(
  { pinned: _, earlier: __, keeps: ___, ...entry }: MemoryEntry,
  marks: EntryMarks,
) {
  return { ...entry, ...marks };
}

function requireNote({ id, sessionId, kind }: MemoryEntry): void {
  if (sessionId === NO_SESSION.added && kind === "message") return;
  const isSaid = kind === "message";
  throw new SessionError("NOT_POSSIBLE", {
    message: isSaid
      ? "What was said in a session stays as it was said: an edited log would be a false one."
      : `This ${kind} is what the project learned.`,
    hint: isSaid
      ? "`rkat sessions bring-back SESSION @ID --pin` keeps it in the window, `rkat memory forget` deletes it, and `rkat memory add` says what holds now."
      : `Change it with \`rkat knowledge edit ${id}\`, or pin it with \`rkat knowledge pin ${id}\`.`,
  });
}

function notYours({ id }: MemoryEntry, pinned: boolean | undefined): SessionError {
  const change = pinned ? `pin ${id}` : `edit ${id} "the new text"`;
  return new SessionError("NOT_POSSIBLE", {
    message:
      pinned === undefined
        ? "Only the user may change this: it is what the user added."
        : "Only the user decides what each session begins with.",
    hint: `Ask the user to run: rkat memory ${change}`,
  });
}

function unknownEntry(id: string): SessionError {
  return new SessionError("KNOWLEDGE_NOT_FOUND", {
    message: `Memory has no entry with the id "${id}".`,
    hint: "`rkat memory list` shows the ids.",
  });
}

/** The memory entry of an added text. The same text by the same author has the same id. */
export function addedEntry({ content, origin }: Given<AddMemory>): MemoryEntry {
  const isModels = origin?.author === "model";
  const said = {
    role: isModels ? "assistant" : "user",
    content: content.trim(),
    ...given({ speaker: isModels ? origin.speaker : speakerOf(origin) }),
  };
  return {
    id: `added:${hashOf(said)}`,
    ...said,
    sessionId: NO_SESSION.added,
    turn: null,
    kind: "message",
    time: origin?.time ?? new Date().toISOString(),
  };
}

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
