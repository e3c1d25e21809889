import type { EventStore } from "../core/event-store.ts";
import type { KnowledgeEntry } from "../core/knowledge.ts";
import type { MemoryStore } from "../core/memory-store.ts";
import type { MemoryForgotten } from "../core/session-service.ts";
import type { SessionState } from "../core/session-state.ts";
import type { SessionStore } from "../core/session-store.ts";
import type { ProjectKnowledge } from "../knowledge/project-knowledge.ts";
import { findCopies } from "./find-copies.ts";
import { learnedFrom, namedKnowledge, rulesMadeOf, saidBy, says } from "./forgotten-knowledge.ts";
import { ForgottenPhrases } from "./forgotten-phrases.ts";
import { redactLog } from "./redact-log.ts";
import { forgettable, NO_SOURCE, sourcesOf, type WhatToForget } from "./sources.ts";

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
  /** Runs `work` while no turn runs in the session, in any process. */
  withSession(sessionId: string, work: (state: SessionState) => Promise<void>): Promise<void>;
  /** Resolves when all projections have caught up with the log. */
  projected(): Promise<void>;
}

/**
 * Forgets memory entries and knowledge, with every copy of their texts. In this order:
 *
 *     1. knowledge that says the same   deleted; a goal that quotes it is cut
 *     2. other sessions                 copies cut from summaries, tool results, reasoning, task records, rules
 *     3. the session it came from       the message is replaced by a marker, copies are cut
 *     4. what was learned from it       deleted, with the rules made from that
 *     5. the entries                    deleted
 *
 * A kill before step 3 leaves the entry, so that forgetting it again does everything. After step 3,
 * the event `text_forgotten` is in the log, and the projections do the rest.
 *
 * Other messages and entries that say the same stay. The answer names them.
 */
export async function forgetMemory(
  what: WhatToForget,
  deps: ForgettingDeps,
): Promise<MemoryForgotten> {
  const { memory, knowledge, events } = deps;
  await deps.projected();
  const all = (await knowledge?.all()) ?? [];
  const found = await forgettable(what, deps);
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
  const goes = { phrases: new ForgottenPhrases(texts), rules };
  const goals = learned.flatMap(({ goal }) => goal ?? []);
  const said = new ForgottenPhrases([...texts, ...goals]);
  const copies = await findCopies(goes, said, sources, events);

  const known = new Set(learned);
  const others = all.filter((entry) => !known.has(entry));
  // A distilled rule goes when its sources do; one that a person wrote or edited is checked by its words.
  const isWritten = ({ id, edited }: KnowledgeEntry) => edited || !rules.has(id);
  const alike = others.filter((entry) => isWritten(entry) && says(entry, goes.phrases));
  await knowledge?.forget(alike.map(({ id }) => id));
  await cutGoals(others, goes.phrases, knowledge);
  const elsewhere = [...copies.sessions].filter((sessionId) => !sources.has(sessionId));
  for (const sessionId of [...elsewhere, ...sources.keys()]) {
    const source = sources.get(sessionId) ?? NO_SOURCE;
    await deps.withSession(sessionId, (state) => redactLog(state, source, goes, deps));
  }
  await knowledge?.forget(learned.map(({ id }) => id));
  const deleted = [...ids];
  for (let at = 0; at < deleted.length; at += BATCH) {
    await memory?.delete({ ids: deleted.slice(at, at + BATCH) });
  }
  await deps.projected();

  const forgotten = entries.length + learned.length + alike.length;
  const remaining = new Set([...(await entriesAlike(texts, said, memory)), ...copies.messages]);
  return { forgotten, remaining: [...remaining].slice(0, REMAINING_MAX) };
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
    await knowledge?.store.edit(id, { content: content.replace(goal, rest), goal: rest });
  }
  await knowledge?.settle();
}

/** Ids of memory entries that still say what was forgotten. */
async function entriesAlike(
  texts: readonly string[],
  said: ForgottenPhrases,
  memory: MemoryStore | undefined,
): Promise<readonly string[]> {
  const alike: string[] = [];
  for (const query of [...new Set(texts)].slice(0, REMAINING_MAX)) {
    const hits = (await memory?.search({ query, limit: 20 })) ?? [];
    alike.push(...hits.filter((hit) => said.isIn(hit.content)).map(({ id }) => id));
  }
  return alike;
}
