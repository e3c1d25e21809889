import type { KnowledgeEntry } from "../core/knowledge.ts";
import { distill } from "../knowledge/distill.ts";
import type { TellingTexts } from "../memory/telling-texts.ts";
import type { Sources } from "./forgotten-sources.ts";

/** The entries with these ids, and what the rules among them rest on: it says the same. */
export function namedKnowledge(
  ids: ReadonlySet<string>,
  all: readonly KnowledgeEntry[],
): readonly KnowledgeEntry[] {
  const named = all.filter(({ id }) => ids.has(id));
  const below = new Set(named.flatMap(({ sources = [] }) => sources));
  return all.filter(({ id }) => ids.has(id) || below.has(id));
}

/** What was learned from events that are forgotten. */
export function learnedFrom(
  sources: Sources,
  all: readonly KnowledgeEntry[],
): readonly KnowledgeEntry[] {
  return all.filter(({ kind, sessionId = "", source }) => {
    const events = sources.get(sessionId)?.events;
    const extents = [events?.get(source?.from ?? 0), events?.get(source?.to ?? 0)];
    // The calls of a message that is forgotten stay, and so what was said of them.
    const wanted = kind === "correction" ? ["everything"] : ["message", "everything"];
    return extents.some((extent) => extent !== undefined && wanted.includes(extent));
  });
}

/** Ids of the rules that rest on entries, or once may have. */
export function rulesMadeOf(
  entries: readonly KnowledgeEntry[],
  all: readonly KnowledgeEntry[],
): ReadonlySet<string> {
  const ids = new Set(entries.map(({ id }) => id));
  const resting = all.filter(({ sources = [] }) => sources.some((id) => ids.has(id)));
  const alone = entries.flatMap((entry) => {
    const corrections = entry.kind === "correction" ? [entry] : [];
    const preferences = entry.kind === "preference" ? [entry] : [];
    return distill({ corrections, preferences, rules: [] }, { maxRules: 1, minEntries: 1 }).rules;
  });
  const rules = entries.filter(({ kind }) => kind === "rule");
  return new Set([...rules, ...resting, ...alone].map(({ id }) => id));
}

/** What an entry says: the words of the user, of the tool, or its own; not what it quotes as the goal. */
export function saidBy({ kind, content, reason, goal }: KnowledgeEntry): readonly string[] {
  if (kind === "fact") return [content.replace(/^Tool '[^']*' result: /, "")];
  return [
    goal === undefined ? content : content.replace(`\nGoal: ${goal}`, ""),
    ...(reason ? [reason] : []),
  ];
}

/** Whether an entry says one of the texts, or quotes it in what it is found by. */
export function says(entry: KnowledgeEntry, texts: TellingTexts): boolean {
  const { goal, content, args = "", tags } = entry;
  // With a word before them, none is a short text that stands alone: many are "ls".
  const found = [`args ${args}`, ...tags.map((tag) => `tag ${tag}`)];
  return (
    texts.isIn(goal === undefined ? content : content.replace(goal, "")) ||
    found.some((text) => texts.outOf(text, "part") !== text)
  );
}
