import type { ApprovalStore } from "../core/approval.ts";
import { type Cleaned, sumCleaned } from "../core/event.ts";
import { isUnreadable } from "../core/event-shape.ts";
import type { EventStore } from "../core/event-store.ts";
import { given } from "../core/fields.ts";
import type { ForgottenTexts } from "../core/forgotten-texts.ts";
import type { KnowledgeEntry } from "../core/knowledge.ts";
import type { EarlierText, EntryMarks, MemoryStore } from "../core/memory-store.ts";
import type { MemoryForgotten, NotCleaned } from "../core/operations/memory.ts";
import type { SessionState } from "../core/session-state.ts";
import type { HeldLease, SessionStore } from "../core/session-store.ts";
import { KnowledgeDistiller } from "../knowledge/knowledge-distiller.ts";
import type { ProjectKnowledge } from "../knowledge/project-knowledge.ts";
import { findCopies, namesFound } from "./find-copies.ts";
import { ForgottenPhrases } from "./forgotten-phrases.ts";
import { forkedMessages } from "./forks.ts";
import { type IdentifyingName, identifyingNames, NameFinder } from "./identifying-names.ts";
import { cleanedKnowledge, notCleanedIn, notReadable } from "./receipt.ts";
import { redactLog } from "./redact-log.ts";
import {
  type ForgetTarget,
  forgettable,
  NO_SOURCE,
  type Source,
  type Sources,
  sourcesOf,
} from "./sources.ts";
import type { Trash } from "./trash.ts";

/** Entries deleted at once. */
const BATCH = 500;
/** Ids that an answer names, and texts that memory is searched for. */
const REMAINING_MAX = 100;

/** Everything that may have a copy of a text. */
export interface ForgettingDeps {
  readonly memory: MemoryStore | undefined;
  readonly knowledge: ProjectKnowledge | undefined;
  readonly events: EventStore;
  readonly sessions: Pick<SessionStore, "save">;
  /** Texts that must not be imported again. */
  readonly forgotten: ForgottenTexts | undefined;
  /** The files of sessions, where there are any. */
  readonly files: object | undefined;
  readonly trash: Trash | undefined;
  /** Runs `work` while no turn runs in the session, in any process. Waits for a turn to end. */
  withSession<T>(
    sessionId: string,
    work: (state: SessionState, held: HeldLease | undefined) => Promise<T>,
  ): Promise<T>;
  /** Resolves when all projections have caught up with the log. */
  projected(): Promise<void>;
  /** Where the database may still have the texts. */
  notCleaned?(): Promise<readonly NotCleaned[]>;
}

/**
 * Forgets memory entries, messages and knowledge, with every copy of their texts. In this order:
 *
 *     1. knowledge that says the same   deleted; a goal that quotes it is cut
 *     2. other sessions                 copies cut from tool results, reasoning, task records, rules
 *     3. the session it came from       the message is replaced by a marker, copies are cut
 *     4. what was learned from it       deleted, with the rules made from that
 *     5. the entries                    deleted
 *     6. deleted sessions that say it   deleted for good
 *
 * A fork has the same messages: what was said before it began goes there too, with what its summary tells of it.
 *
 * In 2 and 3, a summary of anything that lost text is written again without a model. Names and
 * numbers that no other message has are cut out of everything that was derived.
 *
 * A kill before step 3 leaves the entry, so that forgetting it again does everything. After step 3,
 * the event `text_forgotten` is in the log, and the projections do the rest.
 *
 * Other messages and entries that say the same, or have one of its names, stay. The answer lists them.
 */
export async function forgetMemory(
  what: ForgetTarget,
  deps: ForgettingDeps,
): Promise<MemoryForgotten> {
  const { memory, knowledge, events } = deps;
  await deps.projected();
  const all = (await knowledge?.all()) ?? [];
  const named = await forgettable(what, deps);
  const wholeSession = "sessionId" in what ? what.sessionId : undefined;
  const forked = await forkedMessages(named, wholeSession, events);
  const found = [...named, ...forked.copies];
  const asked = "ids" in what ? what.ids : [];
  const ids = new Set([...asked, ...found.map(({ id }) => id)]);
  const knows = namedKnowledge(ids, all);
  const there = new Set([...found, ...all].map(({ id }) => id));
  const isNamed = new Set(knows.map(({ id }) => id));
  const entries = found.filter(({ id }) => !isNamed.has(id));
  if (entries.length + knows.length === 0) return await forgetDeleted(what, deps);

  const sources = await sourcesOf(entries, knows, wholeSession, events);
  const learned = [...new Set([...knows, ...learnedFrom(sources, all)])];
  const rules = rulesMadeOf(learned, all);
  const texts = [
    ...entries.flatMap(({ content, earlier = [] }) => [content, ...earlier.map(earlierText)]),
    ...[...learned, ...all.filter(({ id }) => rules.has(id))].flatMap(saidBy),
    ...[...sources.values()].flatMap((source) => source.texts),
  ];
  const phrases = new ForgottenPhrases(texts);
  const goals = learned.flatMap(({ goal }) => goal ?? []);
  const said = new ForgottenPhrases([...texts, ...goals]);
  const outputs = new Set([...sources.values()].flatMap((source) => source.outputs));
  const names = identifyingNames(texts.filter((text) => !outputs.has(text)));
  const copies = await findCopies({ phrases, rules }, said, names, sources, events);

  const known = new Set(learned);
  const others = all.filter((entry) => !known.has(entry));
  // A distilled rule goes when its sources do; one that a person wrote or edited is checked by its words.
  const isWritten = ({ id, edited }: KnowledgeEntry) => edited || !rules.has(id);
  const alike = others.filter((entry) => isWritten(entry) && says(entry, phrases));
  const deleted = new Set([...ids, ...rules, ...[...learned, ...alike].map(({ id }) => id)]);
  const kept = others.filter(({ id }) => !deleted.has(id));
  const shortened = [...sources].flatMap(([sessionId, source]) =>
    source.shortened.map((id) => `${sessionId}:${id}`),
  );
  // The entries of shortened messages are made again from the log.
  const naming = await entriesNaming(names, kept, memory, new Set(shortened));
  const { lone, sessions, entries: alsoNaming } = namesFound(names, copies, naming, deleted);

  const goes = { phrases: new ForgottenPhrases(texts, lone), rules };
  await knowledge?.forget(alike.map(({ id }) => id));
  await cutGoals(others, goes.phrases, knowledge);
  await cutMarks({ phrases: goes.phrases, deleted }, others, deps);
  const elsewhere = [...copies.sessions, ...sessions].filter((id) => !sources.has(id));
  const cleaned: Cleaned[] = [];
  const unreadable: string[] = [];
  // A fork comes after the session that wrote its summary.
  const forks = new Set(forked.sessions);
  const apart = [...elsewhere, ...sources.keys()].filter((id) => !forks.has(id));
  const clean = async (sessionId: string, source: Source) => {
    const ofSession = (one: { readonly sessionId?: string }) => one.sessionId === sessionId;
    const gone = [
      ...(await cleanedEntries(entries.filter(ofSession), memory)),
      ...cleanedKnowledge(learned.filter(ofSession)),
    ];
    const work = deps.withSession(sessionId, (state, held) =>
      redactLog(state, source, goes, { ...deps, held }, gone),
    );
    // Without what it came from, nothing is forgotten. A copy elsewhere does not keep the others.
    const places = await (sources.has(sessionId) ? work : readablePlaces(work));
    if (!places) unreadable.push(sessionId);
    cleaned.push(...(places ?? []));
    if (deps.files && places?.length) cleaned.push({ place: "file", count: 1 });
  };
  const done = new Set([...apart, ...forks]);
  for (const sessionId of done) await clean(sessionId, sources.get(sessionId) ?? NO_SOURCE);
  // Forks that began before the sessions that they are of were clean.
  for (let isLate = true; isLate; ) {
    const { copies: late, sessions: lineage } = await forkedMessages(named, wholeSession, events);
    const began = lineage.filter((id) => !done.has(id));
    const lateSources = await sourcesOf(late, [], undefined, events);
    for (const sessionId of began) await clean(sessionId, lateSources.get(sessionId) ?? NO_SOURCE);
    for (const sessionId of began) done.add(sessionId);
    for (const { id, sessionId } of late) if (began.includes(sessionId)) ids.add(id);
    isLate = began.length > 0;
  }
  await knowledge?.forget(learned.map(({ id }) => id));
  cleaned.push(...(await cleanedEntries(entries, memory)));
  const going = [...ids];
  for (let at = 0; at < going.length; at += BATCH) {
    await memory?.delete({ ids: going.slice(at, at + BATCH) });
  }
  await deps.projected();

  const distilled = all.filter(({ id, edited }) => rules.has(id) && !edited);
  cleaned.push(...cleanedKnowledge([...new Set([...learned, ...alike, ...distilled])]));
  const trashed = await deps.trash?.removeSaying(goes.phrases);
  cleaned.push({ place: "trash", count: trashed?.removed ?? 0 });
  const remaining = new Set([
    ...(await entriesAlike(texts, said, memory)),
    ...copies.messages,
    ...alsoNaming,
  ]);
  return {
    forgotten: entries.length + learned.length + alike.length,
    remaining: [...remaining].slice(0, REMAINING_MAX),
    remainingCount: remaining.size,
    cleaned: sumCleaned(cleaned),
    notCleaned: [
      ...notReadable(unreadable, trashed?.unreadable ?? []),
      ...(await notCleanedIn(deps)),
    ],
    notFound: [...new Set(asked)].filter((id) => !there.has(id)),
  };
}

/** Where a session's texts were. Undefined when it has an event that cannot be read. */
async function readablePlaces(
  work: Promise<readonly Cleaned[]>,
): Promise<readonly Cleaned[] | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return undefined;
  }
}

/** Forgets a session that was deleted before. Nothing else that was named is there. */
async function forgetDeleted(
  what: ForgetTarget,
  { trash, ...deps }: Pick<ForgettingDeps, "trash" | "notCleaned">,
): Promise<MemoryForgotten> {
  const found = "sessionId" in what ? await trash?.remove(what.sessionId) : undefined;
  const named = "sessionId" in what ? [what.sessionId] : [...new Set(what.ids)];
  return {
    forgotten: found?.message_count ?? 0,
    remaining: [],
    remainingCount: 0,
    cleaned: found ? [{ place: "trash", count: 1 }] : [],
    notCleaned: found ? await notCleanedIn(deps) : [],
    notFound: found ? [] : named,
  };
}

/** Memory entries that are deleted, for the receipt. Messages that are not in memory yet are none. */
async function cleanedEntries(
  entries: readonly { readonly id: string }[],
  memory: MemoryStore | undefined,
): Promise<readonly Cleaned[]> {
  if (!memory || entries.length === 0) return [];
  const { length: count } = await memory.read(entries.map(({ id }) => id));
  const { vectors } = await memory.stats();
  return [
    { place: "memory", count },
    { place: "index", count },
    { place: "vectors", count: vectors ? count : 0 },
  ];
}

/** Knowledge and memory entries that have one of the names, by name. */
async function entriesNaming(
  names: readonly IdentifyingName[],
  kept: readonly KnowledgeEntry[],
  memory: MemoryStore | undefined,
  outdated: ReadonlySet<string>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, readonly string[]>();
  const reported = names.filter(({ isReported }) => isReported).slice(0, REMAINING_MAX);
  for (const { text } of reported) {
    const finder = new NameFinder([text]);
    const hits = (await memory?.search({ query: text, limit: 20 })) ?? [];
    const ids = [
      ...kept.filter(
        ({ content, goal = "" }) =>
          finder.namesIn(goal === "" ? content : content.replace(goal, "")).size > 0,
      ),
      // Knowledge is in memory too, under the same id.
      ...hits.filter(
        ({ id, kind, content }) =>
          kind === "message" && !outdated.has(id) && finder.namesIn(content).size > 0,
      ),
    ].map(({ id }) => id);
    found.set(text, ids);
  }
  return found;
}

/** A correction quotes the user's goal. When that message is forgotten, the correction stays without the quote. */
async function cutGoals(
  entries: readonly KnowledgeEntry[],
  phrases: ForgottenPhrases,
  knowledge: ProjectKnowledge | undefined,
): Promise<void> {
  for (const { id, content, goal = "" } of entries) {
    const rest = phrases.removeFrom(goal, "part");
    if (rest === goal) continue;
    await knowledge?.store.edit(id, { content: content.replace(goal, () => rest), goal: rest });
  }
  await knowledge?.settle();
}

/**
 * An entry that was edited says what it said before, and one that a person keeps beside another has its id. When that is
 * forgotten, the entry stays without it.
 */
async function cutMarks(
  goes: { readonly phrases: ForgottenPhrases; readonly deleted: ReadonlySet<string> },
  learned: readonly KnowledgeEntry[],
  { memory, knowledge }: Pick<ForgettingDeps, "memory" | "knowledge">,
): Promise<void> {
  const left = ({ earlier = [], keeps = [] }: EntryMarks) => {
    const marks = {
      earlier: earlier.filter(({ content }) => !goes.phrases.isIn(content)),
      keeps: keeps.filter(({ id }) => !goes.deleted.has(id)),
    };
    const isLess = marks.earlier.length < earlier.length || marks.keeps.length < keeps.length;
    return isLess ? marks : undefined;
  };
  for (const entry of learned) {
    const { id, earlier, keeps } = entry;
    const marks = left(given({ earlier, keeps }));
    if (marks) await knowledge?.store.edit(id, marks);
  }
  for (let after: string | undefined; memory?.mark; ) {
    const page = await memory.list({ marked: true, limit: BATCH, ...given({ after }) });
    for (const { id, pinned, earlier, keeps } of page) {
      const marks = left(given({ earlier, keeps }));
      if (marks) await memory.mark(id, { ...given({ pinned }), ...marks });
    }
    after = page.at(-1)?.id;
    if (page.length < BATCH) return;
  }
}

function earlierText({ content }: EarlierText): string {
  return content;
}

/** Ids of memory entries that still have forgotten text. */
async function entriesAlike(
  texts: readonly string[],
  said: ForgottenPhrases,
  memory: MemoryStore | undefined,
): Promise<readonly string[]> {
  const alike: string[] = [];
  for (const query of [...new Set(texts)].slice(0, REMAINING_MAX).flatMap(writings)) {
    const hits = (await memory?.search({ query, limit: 20 })) ?? [];
    alike.push(...hits.filter((hit) => said.isIn(hit.content)).map(({ id }) => id));
  }
  return alike;
}

/** A longer text is no single word of an index in any writing. */
const WRITTEN_MAX = 300;

/** A text, and the words that it is in plain encodings. */
function writings(text: string): readonly string[] {
  if (text.length > WRITTEN_MAX) return [text];
  const bytes = Buffer.from(text);
  return [text, bytes.toString("base64"), bytes.toString("base64url"), bytes.toString("hex")];
}

export interface DeletionDeps extends Pick<ForgettingDeps, "memory" | "knowledge" | "events"> {
  readonly sessions: Pick<SessionStore, "load" | "delete">;
  readonly approvals: Pick<ApprovalStore, "remove">;
  /** The session's files, where there are any. */
  readonly files: { remove(sessionId: string): Promise<void> } | undefined;
}

/**
 * Deletes a session from every store, after its log has said that it is deleted. What the user taught in it stays;
 * facts go with it.
 *
 * The log goes last: until then, doing it again does the rest.
 */
export async function deleteSession(sessionId: string, deps: DeletionDeps): Promise<void> {
  const { memory, knowledge, approvals, files, sessions, events } = deps;
  await sessions.delete(sessionId);
  await memory?.delete({ sessionId });
  await knowledge?.deleteSession(sessionId);
  await approvals.remove({ sessionId });
  await files?.remove(sessionId);
  await events.delete(sessionId);
}

/** The entries with these ids, and the entries that rules among them were made from. */
function namedKnowledge(
  ids: ReadonlySet<string>,
  all: readonly KnowledgeEntry[],
): readonly KnowledgeEntry[] {
  const named = all.filter(({ id }) => ids.has(id));
  const below = new Set(named.flatMap(({ sources = [] }) => sources));
  return all.filter(({ id }) => ids.has(id) || below.has(id));
}

/** The knowledge entries learned from forgotten events. */
function learnedFrom(sources: Sources, all: readonly KnowledgeEntry[]): readonly KnowledgeEntry[] {
  return all.filter(({ kind, sessionId = "", source }) => {
    const events = sources.get(sessionId)?.events;
    const extents = [events?.get(source?.from ?? 0), events?.get(source?.to ?? 0)];
    // A forgotten message keeps its tool calls, so corrections about those calls stay too.
    const wanted = kind === "correction" ? ["everything"] : ["message", "everything"];
    return extents.some((extent) => extent !== undefined && wanted.includes(extent));
  });
}

/** Ids of the rules that were made from entries, now or earlier. */
function rulesMadeOf(
  entries: readonly KnowledgeEntry[],
  all: readonly KnowledgeEntry[],
): ReadonlySet<string> {
  const ids = new Set(entries.map(({ id }) => id));
  const resting = all.filter(({ sources = [] }) => sources.some((id) => ids.has(id)));
  const distiller = new KnowledgeDistiller({ maxRules: 1 });
  const alone = entries.flatMap((entry) => {
    const corrections = entry.kind === "correction" ? [entry] : [];
    const preferences = entry.kind === "preference" ? [entry] : [];
    return distiller.distill({ corrections, preferences, rules: [] }).rules;
  });
  const rules = entries.filter(({ kind }) => kind === "rule");
  return new Set([...rules, ...resting, ...alone].map(({ id }) => id));
}

/** The words of an entry, without the goal that it quotes. */
function saidBy({ kind, content, earlier = [], reason, goal }: KnowledgeEntry): readonly string[] {
  const texts = [content, ...earlier.map(earlierText)];
  if (kind === "fact") return texts.map((text) => text.replace(/^Tool '[^']*' result: /, ""));
  const own = goal === undefined ? texts : texts.map((text) => text.replace(`\nGoal: ${goal}`, ""));
  return [...own, ...(reason ? [reason] : [])];
}

/** Whether an entry has one of the phrases, in its words, its arguments or its tags. */
function says(entry: KnowledgeEntry, phrases: ForgottenPhrases): boolean {
  const { goal, content, args = "", tags } = entry;
  // The prefix keeps a short argument such as "ls" from being a text that stands alone.
  const found = [`args ${args}`, ...tags.map((tag) => `tag ${tag}`)];
  return (
    phrases.isIn(goal === undefined ? content : content.replace(goal, "")) ||
    found.some((text) => phrases.removeFrom(text, "part") !== text)
  );
}
