import {
  MEMORY_KINDS,
  type MemoryFilter,
  type ScoreExplanation,
  type ScorePart,
} from "../../core/memory-store.ts";
import { type Span, timeSpan } from "../../text/time/calendar.ts";
import {
  BY_SPEAKER,
  type DetailColumns,
  ON_DATE,
  PASSAGE_ASKS,
  type PassageIndex,
  placeOf,
  SAID_MASK,
} from "../passages/passage-index.ts";
import { type AskedThing, askedThings } from "../words/asked-things.ts";
import { type Likelihood, likelihoodOf } from "./likelihood.ts";
import { type Question, readQuestion } from "./question.ts";
import {
  type AskedWord,
  BlockShares,
  OwnWords,
  QuestionBounds,
  type QuestionEvidence,
  questionEvidence,
  type ScratchArrays,
  type StandIns,
  scratchOf,
} from "./question-evidence.ts";
import { RANKING, type RankingWeights } from "./ranking-weights.ts";
import {
  type Asked,
  BestEntries,
  completeRelevance,
  confidenceOf,
  floorOf,
  matchOf,
  relevanceOf,
  scoresOf,
} from "./score.ts";
import { BLOCK, blockOf, REACH, saturated } from "./word-amounts.ts";

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

/**
 * Finds entries that answer any of the questions, best first. Of two with the same score, the older
 * comes first. An entry is as relevant as its best passage:
 *
 *     relevance = (share + 0.45 · share of its session) · likelihood
 *
 *     share        how many of the question's words are in the passage and around it, by their rarity
 *     likelihood   larger for a speaker whom the question names, smaller for the assistant, …
 *
 * `matchOf` turns the relevance into a match from 0 to 1, and one below the floor is no result, unless the entry has
 * rare words of the question. An entry that has all words of the question has
 * `COMPLETE_MATCH` at least. An entry that has none of them is a result only as the answer to a
 * question that has some. `scoresOf` tells from the matches how sure the results are.
 */
export function findEntries(
  index: PassageIndex,
  query: EntryQuery,
  weights: RankingWeights = RANKING,
): readonly FoundEntry[] {
  if (query.limit <= 0) return [];
  const { texts, bestMatch, ...rest } = query;
  // Any of several questions may have the best result.
  const needed = texts.length === 1 && bestMatch !== undefined ? { bestMatch } : {};
  const options = { ...rest, ...needed };
  const answers = texts.map((text) => findAnswers(index, text, options, weights).found);
  return bestOf(answers, query.limit);
}

/** The results of several questions as one: each entry with its best score. */
export function bestOf(
  answers: readonly (readonly FoundEntry[])[],
  limit: number,
): readonly FoundEntry[] {
  const [only] = answers;
  if (only && answers.length === 1) return only.slice(0, limit);
  const best = new Map<number, FoundEntry>();
  for (const entry of answers.flat()) {
    const other = best.get(entry.slot) ?? entry;
    const { score } = other.score >= entry.score ? other : entry;
    best.set(entry.slot, { ...(other.match >= entry.match ? other : entry), score });
  }
  const inOrder = (one: FoundEntry, other: FoundEntry) =>
    other.score - one.score || other.match - one.match || one.slot - other.slot;
  return [...best.values()].sort(inOrder).slice(0, limit);
}

type QuestionOptions = Omit<EntryQuery, "texts"> & {
  /** Only entries of these times are results. */
  readonly spans?: readonly Span[];
};

/** The results of one question, the best first, and what their scores depend on. */
export interface Answers {
  readonly found: readonly FoundEntry[];
  readonly asked: Asked;
}

export function findAnswers(
  index: PassageIndex,
  text: string,
  query: QuestionOptions,
  weights: RankingWeights = RANKING,
): Answers {
  return scratchOf(index).lend(index.lastSession + 1, blockOf(index.slots) + 1, (arrays) =>
    findWith(arrays, index, text, query, weights),
  );
}

function findWith(
  arrays: ScratchArrays,
  index: PassageIndex,
  text: string,
  query: QuestionOptions,
  weights: RankingWeights,
): Answers {
  const question = readQuestion(text, query.at);
  const withWords = entriesWithWords(arrays, index, question, query, weights);
  const { listsTime, spans } = question;
  if (listsTime === undefined && !mayMeanTime(question, query)) return withWords;
  const ofTime = entriesOfTime(index, question, query, weights);
  if (listsTime === "last" || ofTime.length === 0) {
    return { ...withWords, found: inOrderOfMatch([...withWords.found, ...ofTime]) };
  }
  // Entries of other times may be all of the best ones.
  const ofBoth = scratchOf(index).lend(index.lastSession + 1, blockOf(index.slots) + 1, (others) =>
    entriesWithWords(others, index, question, { ...query, spans }, weights),
  );
  if (listsTime === undefined) {
    if (ofBoth.found.length > 0) return withWords;
    const guessed = ofTime.map((entry) => ({ ...entry, match: GUESSED_MATCH }));
    return { ...withWords, found: inOrderOfMatch([...withWords.found, ...guessed]) };
  }
  const { time } = index.details(0, index.slots);
  const after = withWords.found
    .filter(({ slot }) => placeIn(spans, time[slot] as number) < 0)
    .map((entry) => ({ ...entry, match: Math.min(entry.match, AFTER_LISTED) }));
  return { ...withWords, found: inOrderOfMatch([...ofBoth.found, ...after, ...ofTime]) };
}

/** Which of some spans has a time first, or -1. */
function placeIn(spans: readonly Span[], at: number): number {
  return spans.findIndex(({ from, to }) => from <= at && at < to);
}

/**
 * Whether the words of a question may be those of any question, though no list has them: "co mówiłem wczoraj". Those of
 * English are known. What has to be sure enough is no guess.
 */
function mayMeanTime(question: Question, { bestMatch, minMatch }: QuestionOptions): boolean {
  const { isEnglish, isRelative, spans, words } = question;
  const isShort = spans.length > 0 && spans.every(({ from, to }) => to - from <= GUESSED_SPAN_MAX);
  const isGuess = bestMatch === undefined && minMatch === undefined;
  return isGuess && isRelative && isShort && !isEnglish && words.length <= GUESSED_WORDS_MAX;
}

/** Each entry once, with its best match, the best first. None scores more than the one before it. */
function inOrderOfMatch(entries: readonly FoundEntry[]): readonly FoundEntry[] {
  const best = new Map<number, FoundEntry>();
  for (const entry of entries) {
    if (entry.match > (best.get(entry.slot)?.match ?? 0)) best.set(entry.slot, entry);
  }
  let most = 1;
  return [...best.values()]
    .sort((one, other) => other.match - one.match)
    .map((entry) => {
      most = Math.min(most, entry.score, entry.match);
      return { ...entry, score: most };
    });
}

function entriesWithWords(
  arrays: ScratchArrays,
  index: PassageIndex,
  question: Question,
  options: QuestionOptions,
  weights: RankingWeights,
): Answers {
  const query = { ...options, limit: Math.max(LEADERS, options.limit) };
  const within = blocksOfSession(index, query);
  const evidence = questionEvidence(index, question, weights, arrays, { ...query, within });
  const bounds = new QuestionBounds(index, question, evidence, weights, arrays);
  const likelihood = likelihoodOf(index, question, weights);
  const own = new OwnWords(index, evidence.words);
  const confidence = confidenceOf(evidence);
  const usualFloor = floorOf(index);
  const asked = {
    words: question.words.length,
    namesSpeaker: evidence.namesSpeaker,
    passages: index.passages,
    floor: usualFloor,
  };
  const complete = completeRelevance(question) / confidence;
  const { bestMatch: bar = 0 } = query;
  const bestMatch = bar <= BOUNDED_MATCH_MAX ? bar : 0;
  const needed = relevanceOf(bestMatch, question) / confidence - ROUNDING;
  const floor = query.minMatch ?? usualFloor;
  const rareShare = question.isEnglish ? RARE_SHARE.english : RARE_SHARE.other;
  const lacksName = question.isEnglish && question.time === undefined && own.lacksName;
  const commonMatch = evidence.namesSpeaker ? COMMON_MATCH.ofSpeaker : COMMON_MATCH.other;
  const isResult = (entry: number, value: number) => {
    const match = matchOf(value * confidence, question);
    if (match === 0) return false;
    if (query.minMatch !== undefined) return match >= floor;
    if (match < NAME_MATCH && lacksName) return false;
    if (match < commonMatch && own.hasOnlyCommon(entry)) return false;
    return match >= floor || own.rareShare(entry) >= rareShare;
  };
  const rare = query.minMatch === undefined && !lacksName ? own.rareEntries() : [];
  const least = floor > 0 ? relevanceOf(Math.min(1, floor), question) / confidence - ROUNDING : 0;
  const search = {
    ...{ index, bounds, evidence, likelihood, own, query, weights },
    ...{ isResult, least, rareBlocks: blocksOfEntries(index, rare) },
  };
  const answers = bestAnswers(search, within, complete < needed ? needed : 0);
  if (!answers) return { found: [], asked };
  const [first, results] = withComplete(answers, search, within, complete);
  const leaders = new Set([...first].map(({ entry }) => entry));
  const best = [...first, ...[...results].filter(({ entry }) => !leaders.has(entry))];
  const matches = best.map(({ value }) => matchOf(value * confidence, question));
  const scores = scoresOf(matches, asked);
  const isUnsure =
    query.minMatch === undefined &&
    query.bestMatch === undefined &&
    (matches[0] ?? 1) < THING_MATCH &&
    question.time === undefined &&
    question.words.length <= THING_WORDS_MAX &&
    !evidence.namesSpeaker;
  const things = isUnsure ? askedThings(question, (name) => own.isKnown(name)) : [];
  const found = best.flatMap(({ entry: first, slot, value }, at): FoundEntry[] => {
    const relevance = value * confidence;
    const [match = 0, score = 0] = [matches[at], scores[at]];
    if (!isResult(first, value)) return [];
    const explanation = query.explain
      ? { explanation: explainScore(index, evidence, likelihood, { slot, relevance }, weights) }
      : {};
    const lacks = things.filter((thing) => !own.hasOneOf(first, thing));
    return [{ slot: first, match, score, ...explanation, ...(lacks.length > 0 ? { lacks } : {}) }];
  });
  return { found, asked };
}

/** From here on, an entry has so much of the question that it is about the same things. */
const THING_MATCH = 0.7;
/** A longer question names more than an answer does. */
const THING_WORDS_MAX = 8;

/** The lead of the best one is measured with these, whether they are results or not. */
const LEADERS = 2;

/** An entry is a result from here on where no entry has a name of the question. */
const NAME_MATCH = 0.4;

/**
 * An entry that shares only words of any text with the question, such as "get", is a result from here on. In a talk, what a
 * question is about may stand in the messages around it.
 */
const COMMON_MATCH = { ofSpeaker: 0.4, other: 0.5 } as const;

/** Matches nearer to 1 are those of very different relevances. */
const BOUNDED_MATCH_MAX = 0.99;

/**
 * An entry is a result, whatever its match is, if words that few passages have are this much of the question: one of
 * three. One of four is enough where words are not stemmed: the others may be there in another form.
 */
const RARE_SHARE = { english: 0.33, other: 0.22 } as const;

/** Match of an entry from the time that a question asks for, with no word in common. */
const LISTED_MATCH = 0.5;
/** The same, when its words ask for more than what was said, and nothing from that time has any of them. */
const GUESSED_MATCH = 0.12;
/** Days in milliseconds. Too much was said in a longer time. */
const GUESSED_SPAN_MAX = 8 * 86_400_000;
/** Other words of the question. In scripts without spaces, two characters are one. */
const GUESSED_WORDS_MAX = 4;
/** The factor of an entry of the less likely time: "last Tuesday" may be that of the week before. */
const LESS_LIKELY = 0.9;
/** Maximum match of an entry that only names the time. Entries from that time come first. */
const AFTER_LISTED = 0.2;

/** The entries of the time that a question asks for, what people said first. */
function entriesOfTime(
  index: PassageIndex,
  question: Question,
  query: QuestionOptions,
  weights: RankingWeights,
): readonly FoundEntry[] {
  const { entry, session } = index.columns;
  const { time } = index.details(0, index.slots);
  const likelihood = likelihoodOf(index, question, weights);
  const wanted = slotFilter(index, query);
  const best = new BestEntries(index, query.limit);
  for (let slot = 0; slot < index.slots; slot += 1) {
    if (session[slot] === 0 || entry[slot] !== slot) continue;
    const at = time[slot] as number;
    const place = placeIn(question.spans, at);
    const span = question.spans[place];
    if (!span || !wanted(slot)) continue;
    best.offer(
      slot,
      slot,
      LISTED_MATCH *
        LESS_LIKELY ** (place + farFrom(span, at)) *
        (likelihood(slot) / weights.inSpan),
    );
  }
  return [...best].flatMap(({ slot, value: match }) => {
    if (match < (query.minMatch ?? 0)) return [];
    const parts = [{ name: "from that time", adds: match }];
    return [{ slot, match, score: match, ...(query.explain ? { explanation: { parts } } : {}) }];
  });
}

/** How far a time is from the likeliest one of a span, from 0 to 1. */
function farFrom({ from, to, likeliest }: Span, at: number): number {
  return likeliest === undefined ? 0 : Math.abs(at - likeliest) / (to - from);
}

interface Search {
  readonly index: PassageIndex;
  readonly bounds: QuestionBounds;
  readonly evidence: QuestionEvidence;
  readonly likelihood: Likelihood;
  readonly own: OwnWords;
  readonly query: QuestionOptions;
  readonly weights: RankingWeights;
  /** Whether an entry with this value is a result. */
  isResult(entry: number, value: number): boolean;
  /** Entries with a lower value are results only for their rare words, which are in `rareBlocks`. */
  readonly least: number;
  readonly rareBlocks: ReadonlySet<number>;
}

/** The best of all entries, `LEADERS` of them, and the best of those that are results. */
type BestAnswers = readonly [leaders: BestEntries, results: BestEntries];

/** The best answers; `undefined` as soon as it is sure that the best one has less than `needed`. */
function bestAnswers(
  search: Search,
  within: Uint32Array | undefined,
  needed: number,
): BestAnswers | undefined {
  const { index, bounds, evidence, likelihood, own, query, weights } = search;
  const { entry, session, flags } = index.columns;
  const leaders = new BestEntries(index, LEADERS);
  // One that is no result must not take the place of one that is.
  const best = new BestEntries(index, query.limit);
  const wanted = slotFilter(index, query);
  const blockShares = new BlockShares(index, evidence.words, weights);
  const answers = (slot: number) => {
    const before = session[slot - 1] ? slot - 1 : (entry[slot - 1] as number);
    return ((flags[before] as number) & PASSAGE_ASKS) !== 0;
  };
  /** The lowest value that changes any of them. */
  let needs = 0;
  const look = (block: number) => {
    if (within && placeOf(within, block) < 0) return;
    const shares = blockShares.read(block);
    const likely = bounds.likelihood(block);
    for (let at = 0; at < BLOCK; at += 1) {
      const slot = block * BLOCK + at;
      const share = shares[at] as number;
      const number = session[slot];
      if (share === 0 || !number) continue;
      const relevance = share + weights.session * (evidence.sessionShares[number] as number);
      if (relevance * likely < needs || !wanted(slot)) continue;
      const value = relevance * likelihood(slot);
      const first = entry[slot] as number;
      if (value < needs || !(own.hasAny(first) || answers(slot))) continue;
      leaders.offer(first, slot, value);
      if (value >= best.least && search.isResult(first, value)) best.offer(first, slot, value);
      needs = Math.min(leaders.least, best.least);
    }
  };
  const rareBlocks = new Set(search.rareBlocks);
  for (const block of bounds.order) {
    const least = Math.min(leaders.least, Math.max(best.least, search.least));
    if (!bounds.anyCanReach(block, least)) break;
    if (leaders.most < needed && !bounds.anyCanReach(block, needed)) return undefined;
    if (!bounds.canReach(block, least)) continue;
    look(block);
    rareBlocks.delete(block);
  }
  if (leaders.most < needed) return undefined;
  for (const block of rareBlocks) look(block);
  return [leaders, best];
}

/** The blocks with slots of these entries. */
function blocksOfEntries({ columns }: PassageIndex, entries: Iterable<number>): Set<number> {
  const blocks = new Set<number>();
  for (const first of entries) {
    for (let slot = first; columns.entry[slot] === first; slot += 1) blocks.add(blockOf(slot));
  }
  return blocks;
}

/** The best, when entries that have all words of the question have this value at least. */
function withComplete(
  answers: BestAnswers,
  { index, own, query }: Pick<Search, "index" | "own" | "query">,
  within: Uint32Array | undefined,
  value: number,
): BestAnswers {
  const [leaders, results] = answers;
  if (leaders.least >= value && results.least >= value) return answers;
  const complete = own.complete(within);
  if (complete.size === 0) return answers;
  const wanted = slotFilter(index, query);
  const raised = (best: BestEntries, limit: number) => {
    const all = new BestEntries(index, limit);
    const kept = new Set<number>();
    for (const found of best) {
      const isRaised = found.value < value && complete.has(found.entry);
      all.offer(found.entry, found.slot, isRaised ? value : found.value);
      kept.add(found.entry);
    }
    for (const entry of complete) {
      if (!kept.has(entry) && wanted(entry)) all.offer(entry, entry, value);
    }
    return all;
  };
  return [raised(leaders, LEADERS), raised(results, query.limit)];
}

/**
 * The blocks in which the session of the filter has a slot; `undefined` when it names none. The others have
 * no result, so a search in one session does not take longer with the number of other sessions that say its words.
 */
function blocksOfSession(
  index: PassageIndex,
  { sessionId }: Pick<MemoryFilter, "sessionId">,
): Uint32Array | undefined {
  if (sessionId === undefined) return undefined;
  const number = index.sessionNumber(sessionId);
  return number === undefined ? new Uint32Array() : index.blocksOfSession(number);
}

/** Tells whether the entry of a slot passes a filter. */
export function slotFilter(
  index: PassageIndex,
  { spans, ...filter }: MemoryFilter & Pick<QuestionOptions, "spans">,
): (slot: number) => boolean {
  const tests = slotTests(index, filter, (slot) => index.details(slot));
  if (spans) tests.push((slot) => placeIn(spans, index.details(slot).time[slot] as number) >= 0);
  if (tests.length === 0) return () => true;
  return (slot) => tests.every((test) => test(slot));
}

/**
 * The slots that pass a filter, as a bitmap with the lowest bit first; `undefined` when all of
 * them pass. It runs one test over all slots before the next, because most slots fail the first.
 */
export function wantedSlots(index: PassageIndex, filter: MemoryFilter): Uint32Array | undefined {
  let all: DetailColumns | undefined;
  const tests = slotTests(index, filter, () => {
    all ??= index.details(0, index.slots);
    return all;
  });
  if (tests.length === 0) return undefined;
  const wanted = new Uint32Array(Math.ceil(index.slots / 32)).fill(0xffffffff);
  for (const test of tests) {
    for (let word = 0; word < wanted.length; word += 1) {
      let left = wanted[word] ?? 0;
      for (let rest = left; rest !== 0; rest &= rest - 1) {
        const bit = rest & -rest;
        if (!test(32 * word + 31 - Math.clz32(bit))) left &= ~bit;
      }
      wanted[word] = left;
    }
  }
  return wanted;
}

/** One test for each condition of a filter. A slot has to pass all of them. */
function slotTests(
  index: PassageIndex,
  filter: MemoryFilter,
  details: (slot: number) => DetailColumns,
): ((slot: number) => boolean)[] {
  const { columns } = index;
  const { sessionId, sessions, role, kind } = filter;
  const tests: ((slot: number) => boolean)[] = [];
  if (sessionId !== undefined) {
    const number = index.sessionNumber(sessionId);
    tests.push((slot) => columns.session[slot] === number);
  }
  if (sessions !== undefined) {
    const isOnly = "only" in sessions;
    const ids = isOnly ? sessions.only : sessions.except;
    const numbers = new Set(ids.map((id) => index.sessionNumber(id)));
    tests.push((slot) => numbers.has(columns.session[slot]) === isOnly);
  }
  if (role !== undefined) {
    const number = index.labelNumber(role);
    tests.push((slot) => details(slot).role[slot] === number);
  }
  if (kind !== undefined) {
    const number = MEMORY_KINDS.indexOf(kind);
    tests.push((slot) => details(slot).kind[slot] === number);
  }
  if (filter.since !== undefined || filter.until !== undefined) {
    const { since, until } = timeSpan(filter);
    tests.push((slot) => {
      const time = details(slot).time[slot] ?? Number.NaN;
      return since <= time && time <= until;
    });
  }
  return tests;
}

/**
 * The parts of a score. The sum of their additions, times the factors of the other parts, is the
 * relevance that `matchOf` turns into the match.
 */
function explainScore(
  index: PassageIndex,
  evidence: QuestionEvidence,
  likelihood: Likelihood,
  { slot, relevance }: { readonly slot: number; readonly relevance: number },
  weights: RankingWeights,
): ScoreExplanation {
  const { length, session } = index.columns;
  const words = evidence.words.flatMap((asked): ScorePart[] => {
    const amounts = amountsAt(index, asked, slot, weights);
    const of = asked.standIn ? `${asked.word} as ${asked.standIn.forms.join(", ")}` : asked.word;
    const amount = amounts.reduce((sum, part) => sum + part.amount, 0);
    const adds = asked.share * saturated(amount, length[slot] ?? 0, weights);
    return amounts
      .filter((part) => part.amount > 0)
      .map((part) => ({ name: part.name, of, adds: (adds * part.amount) / amount }));
  });
  const ofSession = weights.session * (evidence.sessionShares[session[slot] ?? 0] ?? 0);
  const added = [...words, ...(ofSession > 0 ? [{ name: "session", adds: ofSession }] : [])];
  const factors = [...likelihood.parts(slot), { name: "question", times: confidenceOf(evidence) }];
  const times = factors.reduce((product, factor) => product * (factor.times ?? 1), 1);
  const missing = relevance / times - added.reduce((sum, part) => sum + (part.adds ?? 0), 0);
  const raised = missing > ROUNDING ? [{ name: "all words", adds: missing }] : [];
  return { parts: [...added, ...raised, ...factors] };
}

/** Sums of the same numbers differ a little. */
const ROUNDING = 1e-4;

/** The parts of the amount of a word in a slot, as `WordAmounts` adds them up. */
function amountsAt(
  index: PassageIndex,
  { postings }: AskedWord,
  slot: number,
  weights: RankingWeights,
): readonly { readonly name: string; readonly amount: number }[] {
  const { session, entry } = index.columns;
  const hitsAt = (where: number) => {
    const there = session[where] ? where : (entry[where] ?? 0);
    const place = placeOf(postings.slots, there);
    return {
      said: (postings.hits[place] ?? 0) & SAID_MASK,
      flags: index.columns.flags[there] ?? 0,
      hits: postings.hits[place] ?? 0,
    };
  };
  const { said, hits } = hitsAt(slot);
  let near = 0;
  for (let away = 1; away <= REACH; away += 1) {
    near += hitsAt(slot - away).said + hitsAt(slot + away).said;
  }
  const before = hitsAt(slot - 1);
  return [
    { name: "word", amount: said },
    { name: "speaker", amount: (hits & BY_SPEAKER) !== 0 ? weights.speaker : 0 },
    { name: "date", amount: (hits & ON_DATE) !== 0 ? weights.date : 0 },
    { name: "neighbour", amount: near * weights.neighbour },
    {
      name: "answers",
      amount: (before.flags & PASSAGE_ASKS) !== 0 ? before.said * weights.answer : 0,
    },
  ];
}
