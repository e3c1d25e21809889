import type { Ground, KnowledgeEntry, NewKnowledge } from "../core/knowledge.ts";
import type { KnowledgeStore } from "../core/knowledge-store.ts";
import { FORGOTTEN } from "../core/message.ts";
import { utf8Bytes } from "../core/tokens.ts";
import { oneLine } from "./one-line.ts";

export const ADDENDUM_HEADING = "## Learned Behavioral Rules";

const INTRODUCTION =
  "These rules come from what the user of this project said or refused in earlier sessions, or added by hand. They hold unless the user says otherwise now.";

/** UTF-8 bytes of the whole addendum. */
const BYTES_MAX = 6000;
const RULE_CHARACTERS_MAX = 500;

export interface KnowledgeAddendum {
  readonly text: string;
  /** Ids of its rules, in order. */
  readonly rules: readonly string[];
}

/** The rules as a text for the system prompt of a new session; `undefined` without rules. */
export function knowledgeAddendum(
  rules: readonly KnowledgeEntry[],
  maxRules: number,
): KnowledgeAddendum | undefined {
  const lines: string[] = [];
  const ids: string[] = [];
  let bytes = utf8Bytes(`${ADDENDUM_HEADING}\n\n${INTRODUCTION}\n`);
  for (const { id, content } of rankRules(rules).slice(0, maxRules)) {
    const line = `${lines.length + 1}. ${oneLine(content, RULE_CHARACTERS_MAX)}`;
    bytes += utf8Bytes(line) + 1;
    if (bytes > BYTES_MAX) break;
    lines.push(line);
    ids.push(id);
  }
  if (lines.length === 0) return undefined;
  return { text: [ADDENDUM_HEADING, "", INTRODUCTION, "", ...lines].join("\n"), rules: ids };
}

/** A system prompt without the rules in `gone`. `applied` has the ids of its rules, in order. */
export function withoutRules(
  prompt: string,
  applied: readonly string[],
  gone: ReadonlySet<string>,
): string {
  const at = prompt.lastIndexOf(ADDENDUM_HEADING);
  if (at < 0 || !applied.some((id) => gone.has(id))) return prompt;
  const told = prompt.slice(at).replace(/^(\d+)\. .*$/gm, (line, number) => {
    const id = applied[Number(number) - 1];
    return id !== undefined && gone.has(id) ? `${number}. ${FORGOTTEN}` : line;
  });
  return prompt.slice(0, at) + told;
}

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

/** Best first: pinned ones, then those heard most often, then the latest. */
export function bySupport(
  one: Pick<NewKnowledge, "pinned" | "count" | "time" | "id">,
  other: Pick<NewKnowledge, "pinned" | "count" | "time" | "id">,
): number {
  return (
    Number(other.pinned ?? false) - Number(one.pinned ?? false) ||
    (other.count ?? 1) - (one.count ?? 1) ||
    (other.time < one.time ? -1 : other.time > one.time ? 1 : one.id < other.id ? -1 : 1)
  );
}

/** Pinned rules first, then those written or edited by hand, then those heard most often. */
export function rankRules(rules: readonly KnowledgeEntry[]): readonly KnowledgeEntry[] {
  const written = ({ origin, edited }: KnowledgeEntry) => Number(origin === "added" || edited);
  return [...rules].sort(
    (one, other) =>
      Number(other.pinned) - Number(one.pinned) ||
      written(other) - written(one) ||
      bySupport({ ...one, time: one.lastTime }, { ...other, time: other.lastTime }),
  );
}
