import type { EventStore, SessionChoice } from "../core/event-store.ts";
import { given } from "../core/fields.ts";
import type { SaidIn } from "../core/kept-state.ts";
import type {
  MemoryEntry,
  MemoryHit,
  MemoryHits,
  MemoryLag,
  MemoryStore,
} from "../core/memory-store.ts";
import {
  OWN_AGENT,
  type SourceConditions,
  type SourceView,
  sourceFilter,
  sourceView,
} from "../core/session-source.ts";
import type { SessionStore } from "../core/session-store.ts";
import type { Outages } from "../core/warn.ts";
import { nowByOffset, nowHere, readClock } from "../text/time/calendar.ts";
import { timeInWords } from "../text/time/time-in-words.ts";

/** The most results that a search can be asked for. */
export const SEARCH_LIMIT_MAX = 1000;
/** The entries looked at beyond the results, for one that replaced a result. */
export const NEWER_AMONG = 5;

/** Searches for `count` hits that are kept. It asks for more as long as others take their places. */
export async function searchFor<Hit>(
  count: number,
  kept: (hits: readonly Hit[]) => readonly Hit[],
  search: (limit: number) => Promise<readonly Hit[]>,
): Promise<readonly Hit[]> {
  for (let limit = count; ; limit = Math.min(4 * limit, SEARCH_LIMIT_MAX)) {
    const hits = await search(limit);
    const wanted = kept(hits);
    if (wanted.length >= count || hits.length < limit || limit >= SEARCH_LIMIT_MAX) {
      return wanted.slice(0, count);
    }
  }
}

/** Leaves out what models, tools and files say in the same words as a hit that is the user's own, and what forks repeat. */
export function withoutCopies(hits: readonly MemoryHit[]): readonly MemoryHit[] {
  const own = new Set(hits.filter(isOwn).map(wordsIn));
  return saidOnce(hits).filter((hit) => isOwn(hit) || !own.has(wordsIn(hit)));
}

function isOwn({ role, speaker }: MemoryHit): boolean {
  return role === "user" && (speaker === undefined || !NOT_TYPED.test(speaker));
}

/** Authors of user messages that the user did not write. */
const NOT_TYPED = /^(?:model|file|program)$|\((?:model|file|program)\)$/;

/** The words of a text in small letters, without articles and the beginning of a fact. */
function wordsIn({ content, kind }: MemoryHit): string {
  const text = kind === "fact" ? content.replace(/^Tool '[^']{0,200}' result: /, "") : content;
  const words = text.toLowerCase().split(/[^a-z0-9\u0080-\uffff]+/);
  return words.filter((word) => !ARTICLES.has(word)).join(" ");
}

const ARTICLES: ReadonlySet<string> = new Set(["", "a", "an", "the"]);

/** A hit of a search in memory or in a log. */
interface Found {
  readonly sessionId: string;
  readonly content: string;
  readonly time?: string;
  readonly role?: string;
  readonly kind?: string;
}

/**
 * A fork says again what was said before it began. Of messages with the same words of the same time, the best one stays.
 * A statement that was learned from a message has its words too, and stays beside it.
 */
export function saidOnce<Hit extends Found>(hits: readonly Hit[]): readonly Hit[] {
  const sessions = new Map<string, string>();
  return hits.filter(({ sessionId, content, time, role, kind = "message" }) => {
    if (time === undefined || kind !== "message") return true;
    const said = JSON.stringify([time, role, content]);
    const first = sessions.get(said) ?? sessionId;
    sessions.set(said, first);
    return first === sessionId;
  });
}

/** Leaves out the entries of forks that memory also has of the session in which they were said. */
export async function withoutInherited<Entry extends MemoryEntry>(
  entries: readonly Entry[],
  memory: Pick<MemoryStore, "read">,
  { events, sessions }: { readonly events: EventStore; readonly sessions: SessionStore },
): Promise<readonly Entry[]> {
  const sources = await sessions.sources([...new Set(entries.map(({ sessionId }) => sessionId))]);
  const originals = new Map<string, string>();
  for (const { id, sessionId, source } of entries) {
    const { agent, parent } = sources.get(sessionId) ?? {};
    if (!source || agent !== OWN_AGENT || parent?.relation !== "fork") continue;
    const said = await inheritedAt(sessionId, source.to, events);
    if (said) originals.set(id, `${said.session}:${said.message}`);
  }
  if (originals.size === 0) return entries;
  const known = await memory.read([...new Set(originals.values())]);
  const there = new Set(known.map(({ id }) => id));
  return entries.filter(({ id }) => !there.has(originals.get(id) ?? ""));
}

async function inheritedAt(
  sessionId: string,
  seq: number,
  events: EventStore,
): Promise<SaidIn | undefined> {
  for await (const { event } of events.read(sessionId, seq - 1, seq)) {
    if (event.type === "message_added") return event.inherited;
  }
  return undefined;
}

type Sources = Pick<SessionStore, "sources" | "withSource"> | undefined;

/** A request as a log or a memory takes it: they know sessions by their ids only. */
export async function ofSource<Request extends SourceConditions>(
  request: Request,
  sessions: Sources,
  { project: own }: { readonly project?: string | undefined },
): Promise<Omit<Request, keyof SourceConditions> & { readonly sessions?: SessionChoice }> {
  const { agent, project, branch, ...rest } = request;
  const source = sourceFilter(given({ agent, project, branch }), own);
  if (!source) return rest;
  const ids = (await sessions?.withSource(source, !source.own)) ?? [];
  return { ...rest, sessions: source.own ? { except: ids } : { only: ids } };
}

/** Adds where the session of each hit came from, if another agent held it, or rkat in another folder. */
export async function withSources<Hit extends { readonly sessionId: string }>(
  hits: readonly Hit[],
  sessions: Sources,
  { project: own }: { readonly project?: string | undefined },
): Promise<readonly (Hit & { readonly from?: SourceView })[]> {
  const ids = new Set(hits.map(({ sessionId }) => sessionId));
  const found = await sessions?.sources([...ids]);
  if (!found || found.size === 0) return hits;
  return hits.map((hit) => {
    const source = found.get(hit.sessionId);
    if (!source || (source.agent === OWN_AGENT && source.project === own)) return hit;
    return { ...hit, from: sourceView(source, hit.sessionId, own) };
  });
}

/** The hits, and what memory lacks. */
export function withLag(hits: readonly MemoryHit[], behind: MemoryLag | undefined): MemoryHits {
  return behind ? Object.assign([...hits], { behind }) : hits;
}

/** A hit without what it and its neighbours said before they were edited. */
export function asItIsNow(hit: MemoryHit): MemoryHit {
  const now = ({ earlier: _, ...entry }: MemoryEntry) => entry;
  const { neighbours, ...found } = hit;
  const around = neighbours && {
    before: neighbours.before.map(now),
    after: neighbours.after.map(now),
  };
  const { earlier: _, ...own }: MemoryHit & MemoryEntry = found;
  return around ? { ...own, neighbours: around } : own;
}

/** How long a search waits for what was said last. With that, almost every search has all of it. */
const WAIT_MS = 1000;

/** Events that are soon in memory, also on a busy machine, and how much longer a search waits for so few. */
const FEW_EVENTS = 200;
const WAIT_FOR_FEW_MS = 9_000;

/** Writers at work hold events back for a shorter time than this. */
const HELD_S = 2;

/** Whether it is held back is asked once in this time, since each search would cost the server another question. */
const ASK_REST_MS = 1000;

interface WaitedFor {
  /** Resolves when memory has everything that the log has for it. It may take minutes. */
  projected(): Promise<void>;
  /** The part of the log that memory lacks now. */
  lag(): Promise<MemoryLag | undefined>;
  /** Whether others may keep memory from what the log has. */
  readonly holdsBack: boolean | undefined;
  readonly outages: Outages;
}

/**
 * Waits until memory has what was said, but not long: a search answers with what is there.
 *
 *     little is missing       the search waits, ten seconds at most, and has all of it
 *     much is missing         it waits a second
 *     others hold it back     it answers at once, and says what is missing
 *     it waited in vain       searches after it do not wait, until that work is done
 *     filling memory fails    it answers with what is there, on a full disk for example
 */
export class MemoryWait {
  readonly #waited: WaitedFor;
  /** Work for which somebody has waited in vain. */
  #late: Promise<unknown> | undefined;
  #askAgainMs = 0;

  constructor(waited: WaitedFor) {
    this.#waited = waited;
  }

  /** Returns whether memory has everything now. */
  async isDone(): Promise<boolean> {
    if (this.#late) return false;
    const { projected, outages } = this.#waited;
    const work = outages.attempt(projected, async () => {
      await projected();
      return true;
    });
    let done = await firstOf(work, WAIT_MS);
    if (done === "late" && (await this.#lacksFew())) done = await firstOf(work, WAIT_FOR_FEW_MS);
    if (done !== "late") return done === true;
    this.#late = work.finally(() => {
      this.#late = undefined;
    });
    return false;
  }

  async #lacksFew(): Promise<boolean> {
    const { lag, outages } = this.#waited;
    const { events = 0 } = (await outages.attempt(lag, lag)) ?? {};
    return events <= FEW_EVENTS;
  }

  /** Returns what memory lacks after the wait; undefined when it has everything. */
  async lag(): Promise<MemoryLag | undefined> {
    const { lag, holdsBack, outages } = this.#waited;
    const isDone = await this.isDone();
    if (isDone && (!holdsBack || performance.now() < this.#askAgainMs)) return undefined;
    const behind = await outages.attempt(lag, lag);
    if (!isDone || (behind?.seconds ?? 0) >= HELD_S) return behind;
    this.#askAgainMs = performance.now() + ASK_REST_MS;
    return undefined;
  }
}

async function firstOf<Result>(work: Promise<Result>, ms: number): Promise<Result | "late"> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** When and where a question is asked. Only a time in it needs the name of the zone, which takes a process 12 ms. */
export function askedAt(question: string, now?: Date): string {
  const at = nowByOffset(now);
  const clock = readClock(at);
  return clock && timeInWords(question, clock) ? nowHere(now) : at;
}

/**
 * The end of the past time that a question asks about, in Unix milliseconds; `undefined` when it asks about none. `at` is
 * when it was asked:
 *
 *     where did Leo live in June      the end of June
 *     what was the port last week     the end of last week
 *     what happens in June            none: it may be the next one
 *     what was said since June        none: it has not ended
 */
export function askedPastEnd(question: string, at: string): number | undefined {
  const clock = readClock(at);
  const said = clock && timeInWords(question, clock);
  if (!clock || !said || !(said.isRelative || IN_THE_PAST.test(question))) return undefined;
  const end = Math.max(...said.spans.map(({ to }) => to));
  return end <= clock.ms ? end : undefined;
}

/** Without it, "in June" and "on Tuesday" may be to come. */
const IN_THE_PAST =
  /(?<!\p{L})(?:was|were|did|had|war|waren|wurden?|hatten?|galt|hieß|était|étaient|avait|avaient|a-t-il|estaba|estaban|tenía|fue|fueron|había|era|erano|aveva|avevano|werd|hade|havde|foi|foram|tinha|był|była|było|был[аои]?)(?!\p{L})/iu;
