import {
  ifSureEnough,
  type MemoryHit,
  type MemoryQuery,
  memoryFilter,
} from "../core/memory-store.ts";
import { wellFormed } from "../text/well-formed.ts";
import { FIRST, likelyAnswers } from "./likely-answers.ts";
import type { OpenIndex } from "./open-index.ts";
import type { Postings } from "./passages/passage-index.ts";
import { type Asking, ask, question, together, transaction } from "./port/asking.ts";
import type { EntryRow, SessionRow } from "./port/index-store.ts";
import type { EntryQuery, FoundEntry } from "./score/entry-query.ts";
import { findEntries } from "./score/find-entries.ts";
import { formsOf, readQuestion } from "./score/question.ts";
import type { StandIns } from "./score/question-evidence.ts";
import { reportedMatch, unreportedMatch } from "./score/score.ts";
import { slotFilter } from "./score/slot-filter.ts";
import { entryOf, type TextMark, textMark } from "./segments/entries.ts";
import { type NeighbourSlots, neighbourSlots } from "./segments/runs.ts";
import { type AskedQuestion, findStandIns, needsStandIns, tellingWordsFor } from "./stand-ins.ts";
import {
  type EmbeddedSearch,
  type Finding,
  findByMeaning,
  type SlotRow,
} from "./vectors/search-vectors.ts";
import { namesThing } from "./words/asked-things.ts";
import { otherWays, withOtherWay } from "./words/definitions.ts";
import { foldText } from "./words/fold-text.ts";
import { misspelled } from "./words/near-words.ts";
import { hasTextKey, stem, textKey } from "./words/words.ts";

/**
 * Finds entries, best first. Entries whose text is the query come before all others.
 *
 *     1  catch up      new segments and columns, postings of the query's words, new codes of vectors
 *     2  look closer   rows of the nearest vectors, entries that may have the query's own text
 *     3  read          the results, and their neighbours
 *
 * Each is one round trip, and the second is skipped when nothing needs it. Only the texts of results are read.
 *
 * When the words are known and nothing had changed at the last search, the results of what is known are read in
 * the first round trip, and are those of the search unless something was written meanwhile.
 */
export function* searchEntries(
  index: OpenIndex,
  asked: MemoryQuery,
  embedded?: EmbeddedSearch,
): Asking<readonly MemoryHit[]> {
  const query = wellFormed(asked);
  const texts = [query.query].flat().filter((text) => text.trim() !== "");
  if (query.limit <= 0 || texts.length === 0) return [];
  // A question with a least score has no guesses.
  if (query.bestMatch !== undefined) {
    return yield* transaction("search", () => search(index, query, texts, embedded));
  }
  const found = yield* answersAmong(index, query, texts, embedded, Math.max(query.limit, FIRST));
  return found.length > query.limit ? found.slice(0, query.limit) : found;
}

/** The number of results that are read when some of fewer are no likely answers. */
const READ_MAX = 40;

function* answersAmong(
  index: OpenIndex,
  query: MemoryQuery,
  texts: readonly string[],
  embedded: EmbeddedSearch | undefined,
  limit: number,
): Asking<readonly MemoryHit[]> {
  const wider = { ...query, limit };
  const hits = yield* transaction("search", () => search(index, wider, texts, embedded));
  let found = hits;
  for (const { text, means } of otherWays(texts, hits.slice(0, FIRST))) {
    const others = yield* transaction("search", () => search(index, wider, [text], undefined));
    found = withOtherWay(found, others, means);
  }
  const { minScore } = query;
  if (minScore !== undefined) return found.filter(({ score }) => score >= minScore);
  // Likeness may know what words do not tell.
  if (isHybrid(embedded)) return found;
  const likely = likelyAnswers(texts, found, query.at);
  if (likely.length === 0 || likely.length >= Math.min(FIRST, found.length)) return likely;
  if (limit < READ_MAX && found.length >= limit) {
    return yield* answersAmong(index, query, texts, embedded, READ_MAX);
  }
  const near = likelyAnswers(texts, found.slice(0, READ_MAX), query.at);
  return near.length < FIRST ? near : likely;
}

function* search(
  index: OpenIndex,
  query: MemoryQuery,
  texts: readonly string[],
  embedded: EmbeddedSearch | undefined,
): Asking<readonly MemoryHit[]> {
  const marks = texts.map(textMark);
  const questions = texts.map((text) => ({ text, question: readQuestion(text, query.at) }));
  const forms = questions.flatMap(({ question }) => formsOf(question));
  const words = [...forms, ...marks.map(({ word }) => word), ...tellingWordsFor(questions)];
  const { minScore, bestMatch, ...rest } = query;
  // How sure a result is, is known at the end.
  const floor = minScore === undefined ? {} : { minMatch: 0 };
  const bar = bestMatch === undefined ? {} : { bestMatch: unreportedMatch(bestMatch) };
  const findNow = (standIns: StandIns = new Map()): Found => {
    const alike = marks.map((mark) => slotsWith(mark, index.postings(mark.word)));
    const isWanted = slotFilter(index, query);
    const marked = texts.map((text, at): MarkedText => {
      return { text, slots: (alike[at] ?? []).filter(isWanted) };
    });
    // The same text is sure enough, and may be among these. Likeness can raise what the words find.
    const canEndEarly = !isHybrid(embedded) && marked.every(({ slots }) => slots.length === 0);
    const needed = canEndEarly ? bar : {};
    const asked = { ...rest, ...floor, ...needed, texts, standIns, sameText: alike.flat() };
    return { finding: find(index, asked, embedded), marked };
  };
  const canGuess =
    isByWords(query, embedded) && index.recall(words) && !needsStandIns(index, questions);
  const guess = canGuess ? findNow() : undefined;
  const wanted = {
    words,
    sessionId: query.sessionId,
    embedder: isHybrid(embedded) ? embedded.embedder : undefined,
  };
  const caughtUp = yield* index.catchUp(wanted, guess ? slotsOf(guess) : []);
  if (!caughtUp) return [];
  const isRight = guess !== undefined && caughtUp.isSame;
  const standIns = isRight ? undefined : yield* findStandIns(index, questions, wanted);
  if (query.sessions) yield* index.findSessions(query.sessions);
  const { finding, marked } = isRight ? guess : findNow(standIns);
  const read = bySlot(isRight ? caughtUp.entries : []);
  const seen = isRight
    ? { rows: [], entries: read, sessions: [] }
    : yield* lookCloser(index, query, finding, marked);
  const same = yield* sameTexts(query, marked, seen.entries);
  const sameSlots = new Set(same.map(({ slot }) => slot));
  const others = finding
    .finish(seen.rows)
    .filter(({ slot, score }) => !sameSlots.has(slot) && score >= (minScore ?? 0))
    .slice(0, query.limit - same.length)
    .map((entry) => ({ ...entry, match: reportedMatch(entry.match) }));
  const explanation = query.explain ? SAME_TEXT : {};
  const found = [
    ...same.map(({ slot }) => ({ slot, match: 1, score: 1, ...explanation })),
    ...others,
  ];
  const sure = ifSureEnough(found, query);
  const hits = yield* hitsOf(index, query, sure, { entries: read, sessions: seen.sessions });
  if (!isHybrid(embedded) && areAboutOthers(sure, hits)) return [];
  if (!standIns?.size) return hits;
  return hits.map((hit) => {
    const meant = didYouMean(questions, standIns, hit.content);
    return meant === undefined ? hit : { ...hit, didYouMean: meant };
  });
}

/** Finds entries by their words, and by their meaning if the questions have vectors. */
function find(index: OpenIndex, query: EntryQuery, embedded: EmbeddedSearch | undefined): Finding {
  if (isHybrid(embedded)) return findByMeaning(index, query, embedded);
  const found = findEntries(index, query);
  const isExplained = embedded && query.explain;
  const all = isExplained ? found.map((entry) => withoutVectors(entry, embedded.problem)) : found;
  return { near: [], likely: all.map(({ slot }) => slot), finish: () => all };
}

function withoutVectors(entry: FoundEntry, problem: string): FoundEntry {
  const parts = [...(entry.explanation?.parts ?? []), { name: "vector", of: problem, adds: 0 }];
  return { ...entry, explanation: { parts } };
}

/** A search whose results need no more than the postings of its words. */
function isByWords(
  { sessionId, sessions, neighbours = 0 }: MemoryQuery,
  embedded: EmbeddedSearch | undefined,
): boolean {
  return (
    !isHybrid(embedded) && neighbours === 0 && sessionId === undefined && sessions === undefined
  );
}

/** Whether entries are found by their meaning too. */
function isHybrid(
  embedded: EmbeddedSearch | undefined,
): embedded is Extract<EmbeddedSearch, { readonly vectors: unknown }> {
  return embedded !== undefined && "vectors" in embedded;
}

interface Found {
  readonly finding: Finding;
  readonly marked: readonly MarkedText[];
}

/** The entries that its results are among. */
function slotsOf({ finding, marked }: Found): readonly number[] {
  return [...finding.likely, ...marked.flatMap(({ slots }) => slots.slice(0, PAGE))];
}

function slotsWith(mark: TextMark, { slots, hits }: Postings): readonly number[] {
  const found: number[] = [];
  for (let at = 0; at < slots.length; at += 1) {
    if (hits[at] === mark.hits) found.push(slots[at] as number);
  }
  return found;
}

const SAME_TEXT = { explanation: { parts: [{ name: "same text", adds: 1 }] } };

/** A text of the query, and the slots of entries that may have it and pass the query's filter. */
interface MarkedText {
  readonly text: string;
  readonly slots: readonly number[];
}

interface Seen {
  readonly rows: readonly SlotRow[];
  /** By slot, the first entries that may have a text of the query. */
  readonly entries: ReadonlyMap<number, EntryRow>;
  /** Sessions that results may be of, when neighbours are wanted. */
  readonly sessions: readonly SessionRow[];
}

function* lookCloser(
  index: OpenIndex,
  { neighbours = 0, bestMatch }: MemoryQuery,
  { near, likely }: Finding,
  marked: readonly MarkedText[],
): Asking<Seen> {
  const known = near.flatMap((slot) => {
    const row = index.vectors.row(slot);
    return row ? [{ slot, row }] : [];
  });
  const inMemory = new Set(known.map(({ slot }) => slot));
  const unread = near.filter((slot) => !inMemory.has(slot));
  const mayBeSame = marked.flatMap(({ slots }) => slots.slice(0, PAGE));
  // A hit that is probably not sure enough needs no neighbours.
  const sessions =
    neighbours > 0 && bestMatch === undefined ? sessionsOf(index, [...likely, ...mayBeSame]) : [];
  if (unread.length + mayBeSame.length + sessions.length === 0) {
    return { rows: known, entries: new Map(), sessions: [] };
  }
  const [read, entries, sessionRows] = yield* together(
    question("vectorRows", index.vectors.space?.number ?? 0, unread),
    question("entries", { slots: mayBeSame }),
    question("sessions", { numbers: sessions }),
  );
  index.vectors.keep(read);
  return {
    rows: [...known, ...read.flatMap(({ slot, row }) => (row ? [{ slot, row }] : []))],
    entries: bySlot(entries),
    sessions: sessionRows,
  };
}

/** Entries that are read at once when they may have the text of a query. */
const PAGE = 100;

/** The entries whose text is one of the queries, the oldest first. */
function* sameTexts(
  query: MemoryQuery,
  marked: readonly MarkedText[],
  first: ReadonlyMap<number, EntryRow>,
): Asking<readonly EntryRow[]> {
  const isWanted = memoryFilter(query);
  const found = new Map<number, EntryRow>();
  for (const { text, slots } of marked) {
    // Most questions are the text of no entry.
    if (slots.length === 0) continue;
    const key = textKey(text);
    for (let at = 0; at < slots.length && found.size < query.limit; at += PAGE) {
      const page = slots.slice(at, at + PAGE);
      const rows = at === 0 ? first : bySlot(yield* ask("entries", { slots: page }));
      for (const slot of page) {
        const row = rows.get(slot);
        if (!row || !isWanted(entryOf(row)) || !hasTextKey(row.content, key)) continue;
        found.set(row.key, row);
      }
    }
  }
  return [...found.values()].sort((one, other) => one.key - other.key).slice(0, query.limit);
}

function* hitsOf(
  index: OpenIndex,
  { neighbours = 0, neighboursMatch = 0 }: MemoryQuery,
  found: readonly FoundEntry[],
  known: Pick<Seen, "entries" | "sessions">,
): Asking<readonly MemoryHit[]> {
  if (found.length === 0) return [];
  const among = neighbours > 0 ? found.filter(({ match }) => match >= neighboursMatch) : [];
  const around = yield* neighboursOf(index, among, known.sessions, neighbours);
  const slots = new Set(found.map(({ slot }) => slot));
  for (const { before, after } of around.values()) {
    for (const slot of [...before, ...after]) slots.add(slot);
  }
  const isRead = [...slots].every((slot) => known.entries.has(slot));
  const rows = isRead ? known.entries : bySlot(yield* ask("entries", { slots: [...slots] }));
  const entries = new Map([...rows].map(([slot, row]) => [slot, entryOf(row)]));
  const entriesAt = (some: readonly number[]) => some.flatMap((slot) => entries.get(slot) ?? []);
  return found.flatMap(({ slot, match, score, explanation }): MemoryHit[] => {
    const entry = entries.get(slot);
    if (!entry) return [];
    const near = around.get(slot);
    const told = near && { before: entriesAt(near.before), after: entriesAt(near.after) };
    return [
      {
        ...entry,
        score,
        match,
        ...(told ? { neighbours: told } : {}),
        ...(explanation === undefined ? {} : { explanation }),
      },
    ];
  });
}

/** Whether each of the best results lacks a thing that its question names, also inside a longer word. */
function areAboutOthers(found: readonly FoundEntry[], hits: readonly MemoryHit[]): boolean {
  const least = AS_GOOD * (found[0]?.match ?? 0);
  const best = found.slice(0, FIRST).filter(({ match }) => match >= least);
  return (
    best.length > 0 &&
    best.every(({ lacks = [] }, at) =>
      lacks.some((thing) => !namesThing(hits[at]?.content ?? "", thing)),
    )
  );
}

/** The part of the best match with which another result is about as good. */
const AS_GOOD = 0.6;

function* neighboursOf(
  index: OpenIndex,
  found: readonly FoundEntry[],
  known: readonly SessionRow[],
  count: number,
): Asking<ReadonlyMap<number, NeighbourSlots>> {
  const sessions = new Map(known.map((session) => [session.number, session]));
  const slots = found.map(({ slot }) => slot);
  const unknown = sessionsOf(index, slots).filter((number) => !sessions.has(number));
  if (unknown.length > 0) {
    for (const row of yield* ask("sessions", { numbers: unknown })) sessions.set(row.number, row);
  }
  return new Map(
    slots.map((slot) => {
      const { runs = [] } = sessions.get(index.columns.session[slot] ?? 0) ?? {};
      return [slot, neighbourSlots(index.columns, runs, slot, count)];
    }),
  );
}

function sessionsOf({ columns }: OpenIndex, slots: readonly number[]): number[] {
  return [...new Set(slots.map((slot) => columns.session[slot] ?? 0))].filter(Boolean);
}

function bySlot(rows: readonly EntryRow[]): ReadonlyMap<number, EntryRow> {
  return new Map(rows.map((row) => [row.slot, row]));
}

/**
 * A question with the words that an entry has in place of those that no entry has; `undefined` when it has none of them:
 *
 *     hazlenut alergy  ─►  hazelnut allergy
 */
function didYouMean(
  questions: readonly AskedQuestion[],
  standIns: StandIns,
  content: string,
): string | undefined {
  const near = [...standIns.values()].filter(({ isNear }) => isNear);
  if (near.length === 0) return undefined;
  const written = new Map<string, string>();
  const beginnings = new Set(near.flatMap(({ forms }) => forms.map((form) => form[0])));
  for (const [word] of content.matchAll(LETTERS)) {
    const folded = foldText(word);
    if (beginnings.has(folded[0])) written.set(stem(folded), word);
  }
  for (const { text } of questions) {
    const meant = text.replace(LETTERS, (asked) => {
      const folded = foldText(asked);
      const forms = near.find(({ word }) => word === folded)?.forms ?? [];
      // Stems may be nearer to each other than their words are.
      const found = forms
        .flatMap((form) => written.get(form) ?? [])
        .find((one) => misspelled(folded, foldText(one)).length > 0);
      return found === undefined ? asked : inCaseOf(asked, found);
    });
    if (meant !== text) return meant;
  }
  return undefined;
}

const LETTERS = /[\p{L}\p{M}]+/gu;

function inCaseOf(asked: string, found: string): string {
  return asked === asked.toLowerCase() ? found.toLowerCase() : found;
}
