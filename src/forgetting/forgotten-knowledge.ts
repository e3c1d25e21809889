import type { KnowledgeEntry } from "../core/knowledge.ts";
import { KnowledgeDistiller } from "../knowledge/knowledge-distiller.ts";
import type { ForgottenPhrases } from "./forgotten-phrases.ts";
import type { Sources } from "./sources.ts";

/** The entries with these ids, and the entries that rules among them were made from. */
export function namedKnowledge(
  ids: ReadonlySet<string>,
  all: readonly KnowledgeEntry[],
): readonly KnowledgeEntry[] {
  const named = all.filter(({ id }) => ids.has(id));
  const below = new Set(named.flatMap(({ sources = [] }) => sources));
  return all.filter(({ id }) => ids.has(id) || below.has(id));
}

/** What was learned from forgotten events. */
export function learnedFrom(
  sources: Sources,
  all: readonly KnowledgeEntry[],
): readonly KnowledgeEntry[] {
  return all.filter(({ kind, sessionId = "", source }) => {
    const events = sources.get(sessionId)?.events;
    const extents = [events?.get(source?.from ?? 0), events?.get(source?.to ?? 0)];
    // A forgotten message keeps its tool calls, so corrections about those calls stay too.
    const wanted = kind === "correction" ? ["everything"] : ["message", "everything"];
    return extents.some((extent) => extent !== undefined && wanted.includes(extent));
  });
}

/** Ids of the rules that were made from entries, now or earlier. */
export function rulesMadeOf(
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
export function saidBy({ kind, content, reason, goal }: KnowledgeEntry): readonly string[] {
  if (kind === "fact") return [content.replace(/^Tool '[^']*' result: /, "")];
  return [
    goal === undefined ? content : content.replace(`\nGoal: ${goal}`, ""),
    ...(reason ? [reason] : []),
  ];
}

/** Whether an entry has one of the phrases, in its words, its arguments or its tags. */
export function says(entry: KnowledgeEntry, phrases: ForgottenPhrases): boolean {
  const { goal, content, args = "", tags } = entry;
  // The prefix keeps a short argument such as "ls" from being a text that stands alone.
  const found = [`args ${args}`, ...tags.map((tag) => `tag ${tag}`)];
  return (
    phrases.isIn(goal === undefined ? content : content.replace(goal, "")) ||
    found.some((text) => phrases.removeFrom(text, "part") !== text)
  );
}
