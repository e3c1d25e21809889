import { instant, timeSpan } from "../text/time/calendar.ts";
import { wellFormed } from "../text/well-formed.ts";
import type { EventStore, SessionChoice } from "./event-store.ts";
import type { SourceView } from "./session-source.ts";

/**
 * Semantic memory: texts of past conversations, found by their words and meaning.
 *
 * A store belongs to one project and one namespace. It never shows entries of another namespace.
 *
 * Contract:
 * - What is added is found by its own words.
 * - An id is stored once, however often and by however many it is added.
 * - A batch is stored whole or not at all.
 * - A credential is replaced before it is stored (`redactSecrets`).
 * - Scores run from 0 (unrelated) to 1 (the same text), best first.
 * - Unrelated text is not a result.
 * - A blank query, or a limit of 0, finds nothing.
 * - Nothing is a result when the best has less than the match that it needs.
 * - Filters hold.
 * - What is deleted is found no more.
 * - Any text can be stored and asked for: every script, operators, quotes, nothing but punctuation.
 * - `list` gives every entry once, in the order in which they were stored.
 * - A rebuilt index finds what the old one found.
 * - A pin, earlier texts and what it is kept beside stay with an entry, and only entries that have one are listed as marked.
 */
export interface MemoryStore {
  /**
   * Stores entries with new ids and returns their number. Blank content is never stored.
   *
   * `log` is where the entries were read, if they were: it gives them again after a power failure.
   * A store in the same file need not sync them to the disk. Without a log they are on the disk
   * when `add` resolves.
   */
  add(entries: readonly MemoryEntry[], log?: EventStore): Promise<number>;
  search(query: MemoryQuery): Promise<readonly MemoryHit[]>;
  /** The entries with these ids, in the order of the ids. Unknown ids are skipped. */
  read(ids: readonly string[]): Promise<readonly MemoryEntry[]>;
  /** Entries page by page, in the order in which they were stored. */
  list(page: MemoryPage): Promise<readonly MemoryEntry[]>;
  /** The whole store's, or one session's. */
  stats(of?: { readonly sessionId: string }): Promise<MemoryStats>;
  /**
   * Gives an entry these marks in the place of those that it has. Returns false when there is no such entry. Without
   * this method, what was added by hand can be neither edited nor pinned.
   */
  mark?(id: string, marks: EntryMarks): Promise<boolean>;
  /** Deletes by id or by session. Returns the number of deleted entries. */
  delete(
    which: { readonly ids: readonly string[] } | { readonly sessionId: string },
  ): Promise<number>;
  /** Compares the index with the entries and reports problems. */
  verify(watch?: Watch): Promise<MemoryCheck>;
  /** Rebuilds the index from the entries. Searches work meanwhile. */
  reindex(watch?: Watch): Promise<void>;
  close(): Promise<void>;
}

/**
 * Which messages get into memory: `all` of them, turn by turn, or only those that a compaction
 * `discarded`, as the specification has it.
 */
export type MemoryScope = "all" | "discarded";

/** The session id of entries that are of no session: texts added by hand, and what the project learned. */
export const NO_SESSION = { added: "added", learned: "project" } as const;

export const MEMORY_KINDS = ["message", "fact", "correction", "preference", "rule"] as const;

export type MemoryKind = (typeof MEMORY_KINDS)[number];

/** Marks that a person gave an entry that was added by hand. */
export interface EntryMarks {
  /** It comes back at the beginning of each session. */
  readonly pinned?: true;
  /** Its texts before it was edited, oldest first. */
  readonly earlier?: readonly EarlierText[];
  /** Entries that it does not replace, and that do not replace it, whatever both say. Oldest decision first. */
  readonly keeps?: readonly KeptBeside[];
}

/** A person's decision that both of two entries hold, and how long it was in force. */
export interface KeptBeside {
  /** The other entry. */
  readonly id: string;
  readonly since: string;
  /** When it was taken back, if it was. */
  readonly until?: string;
}

/** Whether a person decided that neither of two entries replaces the other. */
export function areBothKept(one: KeepingEntry, other: KeepingEntry): boolean {
  const keeps = ({ keeps = [] }: KeepingEntry, id: string) =>
    keeps.some((kept) => kept.id === id && kept.until === undefined);
  return keeps(one, other.id) || keeps(other, one.id);
}

type KeepingEntry = Pick<MemoryEntry, "id" | "keeps">;

/** The marks of an entry as they were at a time, in Unix milliseconds, but for its pin, whose times are not known. */
export function marksAt(
  { earlier = [], keeps }: Pick<EntryMarks, "earlier" | "keeps">,
  ms: number,
): Pick<EntryMarks, "earlier" | "keeps"> {
  const before = earlier.filter(({ until }) => instant(until) <= ms);
  return {
    ...(before.length > 0 ? { earlier: before } : {}),
    ...(keeps ? { keeps: keptAt(keeps, ms) } : {}),
  };
}

/** The decisions as they were at a time, in Unix milliseconds. */
function keptAt(keeps: readonly KeptBeside[], ms: number): readonly KeptBeside[] {
  return keeps
    .filter(({ since }) => instant(since) <= ms)
    .map(({ until, ...kept }) =>
      until === undefined || instant(until) > ms ? kept : { ...kept, until },
    );
}

/** A text that a person replaced. */
export interface EarlierText {
  /** The id that it had. */
  readonly id: string;
  readonly content: string;
  /** When it was said, ISO 8601. Without it, when the text before it was replaced. */
  readonly time?: string;
  /** When it was replaced, ISO 8601. */
  readonly until: string;
}

/** Texts that an entry remembers, so that one that is edited each day stays small. */
export const EARLIER_MAX = 20;

/** The texts that held at a time, in Unix milliseconds, of those that were replaced since. */
export function textsAt(earlier: readonly EarlierText[], ms: number): readonly EarlierText[] {
  return earlier.filter(({ time, until }, at) => {
    const since = time ?? earlier[at - 1]?.until;
    return ms < instant(until) && (since === undefined || instant(since) <= ms);
  });
}

export interface MemoryEntry extends EntryMarks {
  /** Up to 200 characters, unique in the store. */
  readonly id: string;
  readonly content: string;
  /** Any text up to 200 characters. */
  readonly sessionId: string;
  /** The turn of the session, from 0; `null` when the text belongs to no turn. */
  readonly turn: number | null;
  readonly kind: MemoryKind;
  /** When it was said, ISO 8601. */
  readonly time?: string;
  readonly role?: string;
  readonly speaker?: string;
  /** The events of the session's log that have the text. */
  readonly source?: { readonly from: number; readonly to: number };
}

/** Conditions on entries. */
export interface MemoryFilter {
  readonly sessionId?: string;
  readonly role?: string;
  readonly kind?: MemoryKind;
  /** ISO 8601, both included, in UTC without a zone. A day in `until` includes all of that day. With one of them, entries without a time are left out. */
  readonly since?: string;
  readonly until?: string;
  /** Entries of these sessions only, or of all sessions except these. */
  readonly sessions?: SessionChoice;
}

export interface MemoryQuery extends MemoryFilter {
  /** Several queries are one search. Each entry is one result, with its best score. */
  readonly query: string | readonly string[];
  /** Maximum number of results. */
  readonly limit: number;
  /**
   * When and where it was asked, such as `2026-11-26T10:00+01:00[Europe/Berlin]`: "last Tuesday" is before then. Without it,
   * such words count from the newest entry.
   */
  readonly at?: string;
  /** Minimum score. Default: the floor of the store. */
  readonly minScore?: number;
  /** The match that the best result needs, or its score without one. If none has it, there are no results, and none is read. */
  readonly bestMatch?: number;
  /** Number of entries of the same session to show before and after each result. Default 0. */
  readonly neighbours?: number;
  /** The match that a result needs for its neighbours to be shown, or its score without one. Default 0. */
  readonly neighboursMatch?: number;
  /** Explains the score of each result. */
  readonly explain?: boolean;
}

export interface MemoryPage extends MemoryFilter {
  /** Only entries that are pinned, were edited, or are kept beside others. */
  readonly marked?: boolean;
  readonly limit: number;
  /** Id of the last entry of the previous page. */
  readonly after?: string;
}

/** An entry as a service shows it. */
export interface ShownEntry extends MemoryEntry {
  /** It is in the store of the user, not of the project, for a service that searches both. */
  readonly store?: "user";
}

/** An entry that a search found. What it said before it was edited is not part of it. */
export interface MemoryHit extends Omit<ShownEntry, "earlier"> {
  /** How sure it is that it is right: of results with .7, seven of ten are. */
  readonly score: number;
  /** How much of the question it has, whatever else was found. Compares questions about anything with those about nothing. */
  readonly match?: number;
  /** Where its session came from, if another agent held it. A store does not know that: the service adds it. */
  readonly from?: SourceView;
  /** The entries around it, in order, if the query asked for them. */
  readonly neighbours?: {
    readonly before: readonly Omit<MemoryEntry, "earlier">[];
    readonly after: readonly Omit<MemoryEntry, "earlier">[];
  };
  readonly explanation?: ScoreExplanation;
  /** The question with words that entries have, in place of those that none has and that are spelled almost so. */
  readonly didYouMean?: string;
  /** The statement before it, for one that holds now. The service adds it, and the next one. */
  readonly replaces?: OtherStatement;
  /** The statement that holds now, for one that does not. */
  readonly replacedBy?: OtherStatement;
}

/** The part of the log that memory has not got to yet. */
export interface MemoryLag {
  /** The events after those that it has, at most 100 000. */
  readonly events: number;
  /** The age of the oldest of them. */
  readonly seconds: number;
}

/** The results of a search, the best first. */
export interface MemoryHits extends ReadonlyArray<MemoryHit> {
  /** Missing when memory has all that the log has for it. */
  readonly behind?: MemoryLag;
}

/** An entry that says another value of the same thing. */
export interface OtherStatement {
  readonly id: string;
  /** The value, such as `900 euros`. */
  readonly said: string;
  readonly time?: string;
}

/** The parts of a score. */
export interface ScoreExplanation {
  readonly parts: readonly ScorePart[];
}

export interface ScorePart {
  /** The ground, such as `word`, `speaker`, `date`, `neighbour`, `session`, `role`, `vector`, `same text`, `defined`. */
  readonly name: string;
  /** The word, the speaker or the field. */
  readonly of?: string;
  /** Added to the relevance, or multiplied with it. */
  readonly adds?: number;
  readonly times?: number;
}

export interface MemoryStats {
  readonly entries: number;
  readonly sessions: number;
  /** UTF-8 bytes of all content. */
  readonly textBytes: number;
  /** A description of the index for people. */
  readonly index: string;
  /** Bytes of text and index on disk, for a store that has files. */
  readonly diskBytes?: number;
  /** For a store with a trained embedder: its id, and the passages with and without a vector. */
  readonly vectors?: {
    readonly embedder: string;
    readonly embedded: number;
    readonly pending: number;
  };
  /** The part of the log that is not counted yet. The service adds it. */
  readonly behind?: MemoryLag;
}

export interface MemoryCheck {
  /** Number of checked entries. */
  readonly entries: number;
  /** The first hundred problems; empty when there are none. */
  readonly problems: readonly string[];
}

/** Options to stop long work and to show its progress. */
export interface Watch {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void;
}

/**
 * The author of a recalled text, in words that a model cannot take for its own conversation: `user` for
 * the user's own words, `model`, `tool`, `file` or `program` for others', a name in a recording.
 */
export function saidBy({ role, speaker }: Pick<MemoryEntry, "role" | "speaker">): string {
  if (role === "assistant") return "model";
  if (role === "user") return speaker ?? "user";
  return role ?? "unknown";
}

/** How much of the question the best hit has. */
export function bestMatchOf(hits: readonly Pick<MemoryHit, "match" | "score">[]): number {
  return Math.max(0, ...hits.slice(0, 1).map(matchOfHit));
}

/** How much of the question a hit has. Stores that do not tell it have a score for it. */
export function matchOfHit({ match, score }: Pick<MemoryHit, "match" | "score">): number {
  return match ?? score;
}

/** Hits, best first, or none when the best has less of the question than it needs. */
export function ifSureEnough<Hit extends Pick<MemoryHit, "match" | "score">>(
  hits: readonly Hit[],
  { bestMatch = 0 }: Pick<MemoryQuery, "bestMatch">,
): readonly Hit[] {
  return bestMatchOf(hits) < bestMatch ? [] : hits;
}

/**
 * Tells whether an entry passes the filters of a query. Some stores keep a sign in the place of half a character, others
 * what was said: both pass.
 */
export function memoryFilter(
  asked: MemoryFilter,
): (entry: Pick<MemoryEntry, "sessionId" | "role" | "kind" | "time">) => boolean {
  const query = wellFormed(asked);
  const { since, until } = timeSpan(query);
  const isOfSession = sessionTest(query.sessions);
  const anyTime = query.since === undefined && query.until === undefined;
  return ({ sessionId: id, role, kind, time }) => {
    const sessionId = id.toWellFormed();
    if (query.sessionId !== undefined && sessionId !== query.sessionId) return false;
    if (!isOfSession(sessionId)) return false;
    if (query.role !== undefined && role?.toWellFormed() !== query.role) return false;
    if (query.kind !== undefined && kind !== query.kind) return false;
    if (anyTime) return true;
    const at = instant(time);
    return since <= at && at <= until;
  };
}

/** Tells whether a session is one of the choice. */
export function sessionTest(sessions: SessionChoice | undefined): (sessionId: string) => boolean {
  if (sessions === undefined) return () => true;
  if ("only" in sessions) {
    const only = new Set(sessions.only);
    return (sessionId) => only.has(sessionId);
  }
  const except = new Set(sessions.except);
  return (sessionId) => !except.has(sessionId);
}
