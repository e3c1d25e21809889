import type { EventStore } from "../core/event-store.ts";
import type { KnowledgeEntry } from "../core/knowledge.ts";
import type { MemoryStore } from "../core/memory-store.ts";
import type { MemoryForgotten } from "../core/session-service.ts";
import type { SessionState } from "../core/session-state.ts";
import type { SessionStore } from "../core/session-store.ts";
import type { ProjectKnowledge } from "../knowledge/project-knowledge.ts";
import { TellingTexts } from "../memory/telling-texts.ts";
import { findCopies } from "./find-copies.ts";
import { forgettable, type WhatToForget } from "./forgettable.ts";
import { learnedFrom, namedKnowledge, rulesMadeOf, saidBy, says } from "./forgettable-knowledge.ts";
import { NO_SOURCE, sourcesOf } from "./forgotten-sources.ts";
import { redactLog } from "./redact-log.ts";

/** Entries deleted at once. */
const BATCH = 500;
/** What an answer names, and texts for which memory is asked who else says so. */
const REMAINING_MAX = 100;

export interface ForgettingParts {
  readonly memory: MemoryStore | undefined;
  readonly knowledge: ProjectKnowledge | undefined;
  readonly events: EventStore;
  readonly sessions: Pick<SessionStore, "save">;
  /** Runs `work` while nobody else works on the session. */
  withSession(sessionId: string, work: (state: SessionState) => Promise<void>): Promise<void>;
  /** Resolves when all that follows the log has followed it. */
  projected(): Promise<void>;
}

/**
 * Forgets entries of memory and what the project has learned, and what is left
 * of them anywhere:
 *
 *     knowledge that says the same   forgotten; a goal that does is cut
 *     copies in other sessions       cut out of summaries, tool results, thoughts, task records, rules
 *     the session it is from         nothing is left of the message, nor of copies
 *     what was learned from it       forgotten, and so the rules that rest on it
 *     the entry                      deleted
 *
 * In this order: killed before the third, forgetting it again does all of it;
 * killed after, the event that tells of it lets the projections do the rest.
 * Other messages and entries that say the same stay, and are named in the answer.
 */
export async function forgetMemory(
  what: WhatToForget,
  parts: ForgettingParts,
): Promise<MemoryForgotten> {
  const { memory, knowledge, events } = parts;
  await parts.projected();
  const all = (await knowledge?.all()) ?? [];
  const found = await forgettable(what, parts);
  const ids = new Set([...("ids" in what ? what.ids : []), ...found.map(({ id }) => id)]);
  const named = namedKnowledge(ids, all);
  const isNamed = new Set(named.map(({ id }) => id));
  const entries = found.filter(({ id }) => !isNamed.has(id));
  if (entries.length + named.length === 0) return { forgotten: 0, remaining: [] };

  const sources = await sourcesOf(entries, named, events);
  const learned = [...new Set([...named, ...learnedFrom(sources, all)])];
  const rules = rulesMadeOf(learned, all);
  const texts = [
    ...entries.map(({ content }) => content),
    ...[...learned, ...all.filter(({ id }) => rules.has(id))].flatMap(saidBy),
    ...[...sources.values()].flatMap((source) => source.texts),
  ];
  const goes = { texts: new TellingTexts(texts), rules };
  const goals = learned.flatMap(({ goal }) => goal ?? []);
  const said = new TellingTexts([...texts, ...goals]);
  const copies = await findCopies(goes, said, sources, events);

  const known = new Set(learned);
  const others = all.filter((entry) => !known.has(entry));
  // A rule goes with what it was made of, unless somebody wrote it.
  const isWritten = ({ id, edited }: KnowledgeEntry) => edited || !rules.has(id);
  const alike = others.filter((entry) => isWritten(entry) && says(entry, goes.texts));
  await knowledge?.forget(alike.map(({ id }) => id));
  await cutGoals(others, goes.texts, knowledge);
  const elsewhere = [...copies.sessions].filter((sessionId) => !sources.has(sessionId));
  for (const sessionId of [...elsewhere, ...sources.keys()]) {
    const source = sources.get(sessionId) ?? NO_SOURCE;
    await parts.withSession(sessionId, (state) => redactLog(state, source, goes, parts));
  }
  await knowledge?.forget(learned.map(({ id }) => id));
  const deleted = [...ids];
  for (let at = 0; at < deleted.length; at += BATCH) {
    await memory?.delete({ ids: deleted.slice(at, at + BATCH) });
  }
  await parts.projected();

  const forgotten = entries.length + learned.length + alike.length;
  const remaining = new Set([...(await entriesAlike(texts, said, memory)), ...copies.messages]);
  return { forgotten, remaining: [...remaining].slice(0, REMAINING_MAX) };
}

/** What somebody wanted done stays of a correction when it is forgotten as a message: what was taught of it. */
async function cutGoals(
  entries: readonly KnowledgeEntry[],
  texts: TellingTexts,
  knowledge: ProjectKnowledge | undefined,
): Promise<void> {
  for (const { id, content, goal = "" } of entries) {
    const rest = texts.outOf(goal, "part");
    if (rest === goal) continue;
    await knowledge?.store.edit(id, { content: content.replace(goal, rest), goal: rest });
  }
  await knowledge?.settle();
}

/** Ids of entries that say what was forgotten. */
async function entriesAlike(
  texts: readonly string[],
  said: TellingTexts,
  memory: MemoryStore | undefined,
): Promise<readonly string[]> {
  const alike: string[] = [];
  for (const query of [...new Set(texts)].slice(0, REMAINING_MAX)) {
    const hits = (await memory?.search({ query, limit: 20 })) ?? [];
    alike.push(...hits.filter((hit) => said.isIn(hit.content)).map(({ id }) => id));
  }
  return alike;
}
