import type { MemoryFilter, ScoreExplanation } from "../../core/memory-store.ts";
import type { Span } from "../../text/time/calendar.ts";
import type { AskedThing } from "../words/asked-things.ts";
import type { StandIns } from "./question-evidence.ts";

export interface EntryQuery extends MemoryFilter {
  readonly texts: readonly string[];
  readonly limit: number;
  /** The least match of a result. Default: the floor of the store. */
  readonly minMatch?: number;
  /** The match that the best result needs. Without it, nothing is found, and the search may end early. */
  readonly bestMatch?: number;
  readonly explain?: boolean;
  /** When and where it was asked. */
  readonly at?: string;
  /** For words of the questions that no entry has. */
  readonly standIns?: StandIns;
  /** First slots of entries whose text is one of these. That they have its words tells nothing. */
  readonly sameText?: readonly number[];
}

/** A result. */
export interface FoundEntry {
  /** The first slot of the entry. */
  readonly slot: number;
  /** How much of the question it has, from 0 to 1. */
  readonly match: number;
  /** How sure it is that it answers the question. */
  readonly score: number;
  readonly explanation?: ScoreExplanation;
  /** Things that the question names and the entry does not, each by its words. Only those of unsure results are known. */
  readonly lacks?: readonly AskedThing[];
}

/** A query with one question. */
export type QuestionOptions = Omit<EntryQuery, "texts"> & {
  /** Only entries of these times are results. */
  readonly spans?: readonly Span[];
};
