import type { MemoryFilter } from "../../core/memory-store.ts";
import { PASSAGE_ASKS, type PassageIndex, placeOf } from "../passages/passage-index.ts";
import { askedThings } from "../words/asked-things.ts";
import { BlockShares } from "./block-shares.ts";
import { entriesOfTime } from "./entries-of-time.ts";
import type { EntryQuery, FoundEntry, QuestionOptions } from "./entry-query.ts";
import { explainScore, ROUNDING } from "./explain-score.ts";
import { type Likelihood, likelihoodOf } from "./likelihood.ts";
import { OwnWords } from "./own-words.ts";
import { type Question, readQuestion } from "./question.ts";
import { QuestionBounds } from "./question-bounds.ts";
import { type QuestionEvidence, questionEvidence } from "./question-evidence.ts";
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
import { type ScratchArrays, scratchOf } from "./scratch-arrays.ts";
import { placeIn, slotFilter } from "./slot-filter.ts";
import { BLOCK, blockOf } from "./word-amounts.ts";

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
  const names = [...question.names];
  const found = best.flatMap(({ entry: first, slot, value }, at): FoundEntry[] => {
    const relevance = value * confidence;
    const [match = 0, score = 0] = [matches[at], scores[at]];
    if (!isResult(first, value)) return [];
    const explanation = query.explain
      ? { explanation: explainScore(index, evidence, likelihood, { slot, relevance }, weights) }
      : {};
    // In English a name is a word with a capital, and an entry that has it is shown, as with any rare word.
    const isOfName = question.isEnglish && own.hasOneOf(first, names);
    const lacks = isOfName ? [] : things.filter((thing) => !own.hasOneOf(first, thing));
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

/** Match of an entry from that time, when the words ask for more than what was said, and nothing from it has any of them. */
const GUESSED_MATCH = 0.12;
/** Days in milliseconds. Too much was said in a longer time. */
const GUESSED_SPAN_MAX = 8 * 86_400_000;
/** Other words of the question. In scripts without spaces, two characters are one. */
const GUESSED_WORDS_MAX = 4;
/** Maximum match of an entry that only names the time. Entries from that time come first. */
const AFTER_LISTED = 0.2;

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
