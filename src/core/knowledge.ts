/** What a project has learned, and from whom. */
export const KNOWLEDGE_KINDS = ["fact", "correction", "preference", "rule"] as const;

export type KnowledgeKind = (typeof KNOWLEDGE_KINDS)[number];

/**
 * Who says so: a tool's result was recorded; the user denied a call or stated
 * a preference; somebody added it by hand; it was distilled of others.
 */
export const KNOWLEDGE_ORIGINS = ["tool", "user", "added", "distilled"] as const;

type KnowledgeOrigin = (typeof KNOWLEDGE_ORIGINS)[number];

/** Something that a project has learned. */
export interface KnowledgeEntry {
  readonly id: string;
  readonly kind: KnowledgeKind;
  readonly content: string;
  readonly tags: readonly string[];
  readonly origin: KnowledgeOrigin;
  /** Where it was heard last; left out of what was added by hand or distilled. */
  readonly sessionId?: string;
  /** Events of that session's log. */
  readonly source?: { readonly from: number; readonly to: number };
  /** When it was first and last heard, ISO 8601. */
  readonly time: string;
  readonly lastTime: string;
  /** How often it was heard; of a rule, how often what it was made of was. */
  readonly count: number;
  /** Never evicted; of a rule, always applied. */
  readonly pinned: boolean;
  /** Whether somebody has changed its text. */
  readonly edited: boolean;
  /** When a search or a session last made use of it, ISO 8601. */
  readonly usedAt?: string;
  /** The tool whose result it is, or whose call was denied. */
  readonly tool?: string;
  /** That call's arguments as JSON, shortened. */
  readonly args?: string;
  /** Of a correction: what the user said. */
  readonly reason?: string;
  /** Of a correction: what the user wanted done. */
  readonly goal?: string;
  /** Of a rule: what it rests on. */
  readonly sources?: readonly string[];
}

/** Something to be learned: what is the same as something known is merged with it. */
export interface NewKnowledge
  extends Omit<KnowledgeEntry, "lastTime" | "count" | "edited" | "usedAt" | "pinned"> {
  readonly pinned?: boolean;
  /** How often it was heard. Default 1. */
  readonly count?: number;
  /** Hashes. Two that share one are the same. */
  readonly keys: readonly string[];
  /** What two need to have in common to be nearly the same. */
  readonly likeness?: Likeness;
}

/** A sketch of a text, by which texts that are nearly the same are found without reading them. */
export interface Likeness {
  /** Hashes; texts that are much alike share one. */
  readonly bands: readonly string[];
  /** As many values of two signatures are equal as the texts are alike. */
  readonly signature: readonly number[];
}

/** Two rules, or two things that were said, that cannot both hold. */
export interface Contradiction {
  /** Id and text of the newer, which holds. */
  readonly kept: { readonly id: string; readonly content: string };
  readonly dropped: { readonly id: string; readonly content: string };
}
