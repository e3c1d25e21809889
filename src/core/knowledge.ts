import { instant } from "../text/time/calendar.ts";
import { type EarlierText, type KeptBeside, marksAt, textsAt } from "./memory-store.ts";

/** Kinds of what a project has learned. */
export const KNOWLEDGE_KINDS = ["fact", "correction", "preference", "rule"] as const;

export type KnowledgeKind = (typeof KNOWLEDGE_KINDS)[number];

/**
 * Where knowledge comes from: a tool's result; the user, who denied a call or stated a preference;
 * an entry added by hand; an entry added by a model; what an imported transcript says that the user denied;
 * a rule distilled from others. What a model or a transcript says makes no rule.
 */
export const KNOWLEDGE_ORIGINS = [
  "tool",
  "user",
  "added",
  "model",
  "imported",
  "distilled",
] as const;

export type KnowledgeOrigin = (typeof KNOWLEDGE_ORIGINS)[number];

/** Something that a project has learned. */
export interface KnowledgeEntry {
  readonly id: string;
  readonly kind: KnowledgeKind;
  readonly content: string;
  readonly tags: readonly string[];
  readonly origin: KnowledgeOrigin;
  /** The session that said it last. Missing for entries added by hand and for rules. */
  readonly sessionId?: string;
  /** Events of that session's log. */
  readonly source?: { readonly from: number; readonly to: number };
  /** First and last time that it was said, ISO 8601. */
  readonly time: string;
  readonly lastTime: string;
  /** How often it was said. For a rule, the sum of its sources. */
  readonly count: number;
  /** Never evicted. A pinned rule comes first in the prompt. */
  readonly pinned: boolean;
  /** Whether its text was edited by hand. */
  readonly edited: boolean;
  /** Its texts before it was edited, oldest first. */
  readonly earlier?: readonly EarlierText[];
  /** Statements that it does not contradict, whatever both say. */
  readonly keeps?: readonly KeptBeside[];
  /** Last time that a search found it or a session was told it, ISO 8601. */
  readonly usedAt?: string;
  /** The tool of the result, or of the denied call. */
  readonly tool?: string;
  /** The call's arguments as JSON, shortened. */
  readonly args?: string;
  /** For a correction: the user's reason. */
  readonly reason?: string;
  /** For a correction: the user's goal at that time. */
  readonly goal?: string;
  /** For a rule: ids of the entries that it was made from. */
  readonly sources?: readonly string[];
  /** For a rule: the words that it rests on. A service adds them to its answers; a store does not keep them. */
  readonly restsOn?: readonly Ground[];
  /** The newer statement that contradicts it, and holds. A service adds it to its answers; a store does not keep it. */
  readonly replacedBy?: string;
}

/** The grounds of a rule: something that the user said, denied or added. */
export interface Ground {
  /** The preference, the correction, or the rule itself when it was added. */
  readonly id: string;
  /** `user`: said in a session. `added`: added by hand. */
  readonly origin: KnowledgeOrigin;
  readonly sessionId?: string;
  /** The event in that session's log: the prompt, or the denial. */
  readonly seq?: number;
  /** When it was said last, ISO 8601. */
  readonly time: string;
  /** The user's words; empty for a denial without a reason. */
  readonly said: string;
}

/** New knowledge. It is merged into an entry that says the same. */
export interface NewKnowledge
  extends Omit<
    KnowledgeEntry,
    | "lastTime"
    | "count"
    | "edited"
    | "earlier"
    | "keeps"
    | "usedAt"
    | "pinned"
    | "restsOn"
    | "replacedBy"
  > {
  readonly pinned?: boolean;
  /** How often it was said. Default 1. */
  readonly count?: number;
  /** Hashes. Two entries that share one are the same. */
  readonly keys: readonly string[];
  /** A sketch that finds entries that are nearly the same. */
  readonly likeness?: Likeness;
}

/** A sketch of a text (MinHash). It finds texts that are nearly the same without reading them. */
export interface Likeness {
  /** Hashes. Texts that are nearly the same share one. */
  readonly bands: readonly string[];
  /** The share of equal values in two signatures is the similarity of the texts. */
  readonly signature: readonly number[];
}

/** Two statements that contradict each other. */
export interface Contradiction {
  /** The newer one, which holds. */
  readonly kept: { readonly id: string; readonly content: string };
  readonly dropped: { readonly id: string; readonly content: string };
}

/**
 * An entry at a time, in Unix milliseconds; undefined if it was not known yet. Of one that was heard again since, the
 * first time is known and no other.
 *
 *     heard    1 May, 3 June "npm"
 *     edited   5 June "pnpm"
 *     2 May    "npm", heard once, on 1 May
 *     6 June   "pnpm", heard twice, on 3 June last
 */
export function asItWas(entry: KnowledgeEntry, ms: number): KnowledgeEntry | undefined {
  if (instant(entry.time) > ms) return undefined;
  const { earlier = [], keeps: _, usedAt, lastTime, ...rest } = entry;
  const [said] = textsAt(earlier, ms);
  const marks = marksAt(entry, ms);
  const isHeardSince = instant(lastTime) > ms;
  return {
    ...rest,
    ...(said ? { content: said.content, edited: marks.earlier !== undefined } : {}),
    ...marks,
    ...(isHeardSince ? { lastTime: entry.time, count: 1 } : { lastTime }),
    ...(usedAt !== undefined && instant(usedAt) <= ms ? { usedAt } : {}),
  };
}
