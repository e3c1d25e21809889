import {
  type PassageIndex,
  type Postings,
  placeFrom,
  placeOf,
  unitePostings,
} from "../passages/passage-index.ts";
import { isCommonWord, isKana } from "../words/common-words.ts";
import { maxLikelihood } from "./likelihood.ts";
import type { Question } from "./question.ts";
import type { RankingWeights } from "./ranking-weights.ts";
import { BLOCK, halvesAt, sessionsBeside, timesBySession, WordAmounts } from "./word-amounts.ts";
import { BOUND_MAX, type WordSummary, wordSummary } from "./word-summaries.ts";

/** A word of the question, with its postings and summary in the index. */
export interface AskedWord {
  readonly word: string;
  readonly postings: Postings;
  readonly summary: WordSummary;
  /** How much of the question it is, by its rarity. The shares of all words add up to 1, unless others stand for some. */
  readonly share: number;
  /** Words of the index that stand for it, because no entry has it. */
  readonly standIn?: StandIn | undefined;
  /** It is written like a name, or has a digit. */
  readonly isName?: boolean;
}

/** Words of the index in place of one of a question that no entry has. */
export interface StandIn {
  /** The word of the question. */
  readonly word: string;
  readonly forms: readonly string[];
  /** Their weight, where the word itself would count 1. */
  readonly counts: number;
  /** These words are spelled almost like it, and may be others. */
  readonly isNear: boolean;
  /** A near word that is hardly another one. */
  readonly isSure?: boolean;
  /** Parts of the word, each with its own forms: an entry with both has more of the question than one with either. */
  readonly parts?: readonly { readonly part: string; readonly forms: readonly string[] }[];
}

/** By the form of the word that they stand for. */
export type StandIns = ReadonlyMap<string, StandIn>;

/** A session that says a word this often gets half of the most that the word can add. */
const SESSION_SATURATION = 1.2;

/** The question's words in the index, before a search looks at passages. */
export interface QuestionEvidence {
  readonly words: readonly AskedWord[];
  /** By number of a session, how much of the question it has. */
  readonly sessionShares: Float32Array;
  readonly bestSessionShare: number;
  /** The largest share of the question's words that one session has, names of speakers and dates included. */
  readonly bestCovered: number;
  /** Whether the question names a speaker. */
  readonly namesSpeaker: boolean;
}

/** Evidence for a question. With `within`, the blocks of one session, it lacks other blocks; with `sessionId`, the shares of other sessions. */
export function questionEvidence(
  index: PassageIndex,
  question: Question,
  weights: RankingWeights,
  arrays: ScratchArrays,
  {
    within,
    sessionId,
    standIns,
    sameText = [],
  }: {
    readonly within?: Uint32Array | undefined;
    readonly sessionId?: string;
    readonly standIns?: StandIns;
    readonly sameText?: readonly number[];
  },
): QuestionEvidence {
  const found = [...question.forms].flatMap(([form, word]) => {
    const standIn = standIns?.get(form);
    const forms = standIn?.forms ?? [form, ...(question.otherForms.get(word) ?? [])];
    const times = question.names.has(word) ? weights.name : 1;
    return (standIn?.parts ?? [{ part: word, forms }]).map(({ part, forms }) => {
      const postings = postingsOf(index, forms);
      const letters = standIn?.parts ? part.length / word.length : 1;
      return {
        word: part,
        postings,
        summary: wordSummary(index, postings, weights, within),
        standIn,
        isName: question.names.has(word) || /\d/.test(word),
        rarity: times * letters * rarity(part, postings.slots.length, index.passages),
      };
    });
  });
  const rarities = found.reduce((sum, { rarity }) => sum + rarity, 0);
  const words = found.map(({ rarity, ...rest }) => ({
    ...rest,
    share: ((rest.standIn?.counts ?? 1) * rarity) / rarities,
  }));
  const namesSpeaker = words.some(({ summary }) => summary.isName);
  const only = sessionId === undefined ? undefined : (index.sessionNumber(sessionId) ?? 0);
  const shares = sessionShares(index, { words, rarities, sameText, only }, arrays);
  return { words, namesSpeaker, ...shares };
}

/** The postings of a word in all of its forms. */
function postingsOf(index: PassageIndex, forms: readonly string[]): Postings {
  const [only] = forms;
  if (only !== undefined && forms.length === 1) return index.postings(only);
  return unitePostings(forms.map((form) => index.postings(form)));
}

/**
 * Smaller, the more passages have the word. Never 0, so that a store with one entry works. A small store cannot tell which
 * words are rare, so the fewer passages it has, the more those of usual texts count. It soon knows the words that it
 * has: those that all its texts have are no sign of one of them.
 *
 *     passages               1                25              100             250
 *     a word that it has     19 usual ones    none
 *     a word that it lacks   20 usual ones    18 usual ones   12 usual ones   none
 */
function rarity(word: string, having: number, passages: number): number {
  const until = having > 0 ? USUAL.untilKnown : USUAL.until;
  const usual = USUAL.passages * Math.max(0, 1 - passages / until);
  if (usual === 0) return rarityOf(having, Math.max(passages, having));
  const has = having + usual * (isCommonWord(word) ? USUAL.common : USUAL.other);
  return rarityOf(has, Math.max(passages, having) + usual);
}

/** Passages of usual texts, the passages of a store with which they count no more, and what part of them has a word. */
const USUAL = { passages: 20, until: 250, untilKnown: 25, common: 0.2, other: 0.005 } as const;

function rarityOf(having: number, all: number): number {
  return Math.log(1 + (Math.max(all, having) - having + 0.5) / (having + 0.5));
}

/** How much of the question each session has, or `only` one. Here a word counts by how few sessions have it. */
function sessionShares(
  index: PassageIndex,
  {
    words,
    rarities,
    sameText,
    only,
  }: {
    readonly words: readonly AskedWord[];
    readonly rarities: number;
    readonly sameText: readonly number[];
    readonly only: number | undefined;
  },
  { sessionShares: shares, covered }: ScratchArrays,
): Pick<QuestionEvidence, "sessionShares" | "bestSessionShare" | "bestCovered"> {
  for (const { postings, summary, share, standIn } of words) {
    const counts = standIn?.counts ?? 1;
    const rarity = rarityOf(summary.sessions.length, index.sessions);
    const most = (counts * (1 + SESSION_SATURATION) * rarity) / rarities;
    const asking = [...timesBySession(index, postings, sameText)];
    const before = asking.map(([session]) => [shares[session], covered[session]] as const);
    addToAll(covered, summary.sessions, share);
    if (only === undefined) addShares(shares, summary, most);
    else (shares[only] as number) += shareOf(timesIn(summary, only), most);
    if (asking.length === 0) continue;
    // A word in the asking texts tells nothing of their sessions.
    const beside = sessionsBeside(index, postings, sameText);
    for (const [nth, [session, byAsking]] of asking.entries()) {
      const [shareBefore = 0, coveredBefore = 0] = before[nth] ?? [];
      const times = Math.max(0, timesIn(summary, session) - byAsking);
      const isThere = times > 0 || beside[session] === 1;
      if (only === undefined || session === only)
        shares[session] = shareBefore + shareOf(times, most);
      covered[session] = coveredBefore + (isThere ? share : 0);
    }
  }
  const bestSessionShare =
    only === undefined ? largest(shares, index.lastSession) : (shares[only] as number);
  return {
    sessionShares: shares,
    bestSessionShare,
    bestCovered: largest(covered, index.lastSession),
  };
}

/** How often a session says a word; 0 where it does not have it. */
function timesIn({ sessions, said }: WordSummary, session: number): number {
  return said[sessions.indexOf(session)] ?? 0;
}

function shareOf(times: number, most: number): number {
  return (most * times) / (times + SESSION_SATURATION);
}

// Each loop is a function of its own. Where they were in one, V8 compiled it again and again.

function addToAll(covered: Float32Array, sessions: Uint32Array, share: number): void {
  for (let at = 0; at < sessions.length; at += 1)
    (covered[sessions[at] as number] as number) += share;
}

function addShares(shares: Float32Array, { sessions, said }: WordSummary, most: number): void {
  for (let at = 0; at < sessions.length; at += 1)
    (shares[sessions[at] as number] as number) += shareOf(said[at] as number, most);
}

/** The largest of the numbers up to the place `last`, or 0. */
function largest(numbers: Float32Array, last: number): number {
  let most = 0;
  for (let at = 0; at <= last; at += 1) {
    const number = numbers[at] as number;
    if (number > most) most = number;
  }
  return most;
}

/** Arrays for one question. They begin with zeros, except `reached`, and may be longer than needed. */
export interface ScratchArrays {
  /** By number of a session. */
  readonly sessionShares: Float32Array;
  readonly covered: Float32Array;
  /** By block. */
  readonly bounds: Float32Array;
  readonly named: Uint8Array;
  readonly reached: Uint32Array;
}

/** The scratch arrays of an index, which live as long as it does. */
export function scratchOf(index: PassageIndex): Scratch {
  const known = SCRATCH.get(index);
  if (known) return known;
  const scratch = new Scratch();
  SCRATCH.set(index, scratch);
  return scratch;
}

/**
 * Keeps the arrays of an index from one question to the next. A question borrows them for its time.
 * Another one in between gets arrays of its own.
 */
class Scratch {
  #free: ScratchArrays | undefined;

  /** Lends arrays for `sessions` and `blocks` to `work`. They are not valid after it. */
  lend<Result>(sessions: number, blocks: number, work: (arrays: ScratchArrays) => Result): Result {
    const arrays =
      cleared(this.#free, sessions, blocks) ?? newArrays(grown(sessions), grown(blocks));
    this.#free = undefined;
    try {
      return work(arrays);
    } finally {
      this.#free = arrays;
    }
  }
}

const SCRATCH = new WeakMap<PassageIndex, Scratch>();

function cleared(
  arrays: ScratchArrays | undefined,
  sessions: number,
  blocks: number,
): ScratchArrays | undefined {
  if (!arrays || arrays.covered.length < sessions || arrays.named.length < blocks) return undefined;
  arrays.sessionShares.fill(0, 0, sessions);
  arrays.covered.fill(0, 0, sessions);
  arrays.bounds.fill(0, 0, blocks);
  arrays.named.fill(0, 0, blocks);
  return arrays;
}

/** An index that grows then does not need new ones each time. */
function grown(length: number): number {
  return Math.ceil(1.25 * length);
}

function newArrays(sessions: number, blocks: number): ScratchArrays {
  return {
    sessionShares: new Float32Array(sessions),
    covered: new Float32Array(sessions),
    bounds: new Float32Array(blocks),
    named: new Uint8Array(blocks),
    reached: new Uint32Array(blocks),
  };
}

/** How much of a question each slot of a block has, its neighbours included. */
export class BlockShares {
  readonly #words: readonly AskedWord[];
  readonly #weights: RankingWeights;
  readonly #lengths: Uint8Array;
  readonly #wordAmounts: WordAmounts;
  readonly #shares = new Float32Array(BLOCK);

  constructor(index: PassageIndex, words: readonly AskedWord[], weights: RankingWeights) {
    this.#words = words;
    this.#weights = weights;
    this.#lengths = index.columns.length;
    this.#wordAmounts = new WordAmounts(index, weights);
  }

  /** By slot of the block. The next call overwrites it. */
  read(block: number): Float32Array {
    const { amounts } = this.#wordAmounts;
    const shares = this.#shares.fill(0);
    const halves = halvesAt(this.#weights);
    const start = block * BLOCK;
    this.#wordAmounts.moveTo(block);
    for (const { postings, summary, share } of this.#words) {
      if (placeOf(summary.blocks, block) < 0) continue;
      this.#wordAmounts.read(postings);
      const most = share * (1 + this.#weights.saturation);
      const { from, until } = this.#wordAmounts;
      for (let at = from; at < until; at += 1) {
        const amount = amounts[at] as number;
        if (amount === 0) continue;
        const half = halves[this.#lengths[start + at] as number] as number;
        (shares[at] as number) += (most * amount) / (amount + half);
      }
    }
    return shares;
  }
}

/**
 * The words of a question that an entry itself has: in its text, in the name of its speaker, or in its
 * date. Words around it do not count. An entry is named by its first slot.
 */
export class OwnWords {
  readonly #index: PassageIndex;
  /** The rarest first. */
  readonly #words: readonly AskedWord[];
  #commonWords: ReadonlySet<AskedWord> | undefined;
  #rareWords: readonly AskedWord[] | undefined;

  constructor(index: PassageIndex, words: readonly AskedWord[]) {
    this.#index = index;
    this.#words = words.toSorted(
      (one, other) => one.postings.slots.length - other.postings.slots.length,
    );
  }

  hasAny(entry: number): boolean {
    return this.#words.some((word) => this.#has(entry, word));
  }

  /** A word that is only near one of the question is another word. */
  hasAll(entry: number): boolean {
    if (this.#words.some(({ standIn }) => standIn?.isNear)) return false;
    return this.#words.every((word) => this.#has(entry, word));
  }

  /** Whether any entry has a word of the question, or what stands for it. */
  isKnown(asked: string): boolean {
    return this.#words.some(({ word, postings }) => word === asked && postings.slots.length > 0);
  }

  /** Whether it has one of some words, or what stands for it. */
  hasOneOf(entry: number, some: readonly string[]): boolean {
    return this.#words.some((word) => some.includes(word.word) && this.#has(entry, word));
  }

  /** Whether the question has a name, or a number, that no entry has. */
  get lacksName(): boolean {
    return this.#words.some(
      ({ word, isName, standIn, postings }) =>
        isName && !standIn && postings.slots.length === 0 && SURE_NAME.test(word),
    );
  }

  /** Whether all words of the question that it has are of any text, and it lacks some. */
  hasOnlyCommon(entry: number): boolean {
    if (this.#common.size === 0) return false;
    const hasOther = this.#words.some((word) => !this.#common.has(word) && this.#has(entry, word));
    return !hasOther && !this.#words.every((word) => this.#has(entry, word));
  }

  /** How much of the question its words are that only a few passages of the store have. */
  rareShare(entry: number): number {
    const rare = this.#rare.reduce(
      (sum, word) =>
        this.#has(entry, word) ? sum + word.share * (word.isName ? NAME_COUNTS : 1) : sum,
      0,
    );
    return rare / this.#asked;
  }

  /** The entries that have such a word. */
  rareEntries(): Set<number> {
    const { entry } = this.#index.columns;
    const slots = this.#rare.flatMap(({ postings }) => [...postings.slots]);
    return new Set(slots.map((slot) => entry[slot] as number));
  }

  get #rare(): readonly AskedWord[] {
    const most = rareMax(this.#index.passages);
    this.#rareWords ??= this.#words.filter(
      (word) =>
        word.postings.slots.length <= most &&
        !(word.standIn?.isNear && !word.standIn.isSure) &&
        !this.#common.has(word),
    );
    return this.#rareWords;
  }

  /** The words that any text may have. Only entries with a low score need them. */
  get #common(): ReadonlySet<AskedWord> {
    this.#commonWords ??= new Set(this.#words.filter(({ word }) => isCommonWord(word)));
    return this.#commonWords;
  }

  /** The share of all words, where those that any text may have count little, and endings that no text has nothing. */
  get #asked(): number {
    const counts = (word: AskedWord) => (this.#common.has(word) ? COMMON_COUNTS : 1);
    return this.#words
      .filter(({ word, postings }) => postings.slots.length > 0 || !isKana(word))
      .reduce((sum, word) => sum + word.share * counts(word), 0);
  }

  /** The entries that have all words; with `within`, those in these blocks. */
  complete(within?: Uint32Array): Set<number> {
    const { entry, session } = this.#index.columns;
    const found = new Set<number>();
    const slots = this.#words[0]?.postings.slots ?? new Uint32Array();
    const look = (from: number, until: number) => {
      for (let at = from; at < until; at += 1) {
        const slot = slots[at] as number;
        const first = entry[slot] as number;
        if (session[slot] !== 0 && !found.has(first) && this.hasAll(first)) found.add(first);
      }
    };
    if (!within) look(0, slots.length);
    let end = 0;
    for (const block of within ?? []) {
      const start = placeFrom(slots, block * BLOCK, end);
      end = placeFrom(slots, (block + 1) * BLOCK, start);
      look(start, end);
    }
    return found;
  }

  #has(entry: number, { postings: { slots } }: AskedWord): boolean {
    const slot = slots[placeFrom(slots, entry)];
    return slot !== undefined && this.#index.columns.entry[slot] === entry;
  }
}

/** An entry that lacks "reason" or "happen" may still answer. */
const COMMON_COUNTS = 0.3;

/** A shorter name may be one with a typo, and a shorter number a part of a version. */
const SURE_NAME = /^(?:[a-z]{5,}|\d{3,})$/;

/** A name tells what a question is about better than other words do. */
const NAME_COUNTS = 1.4;

/**
 * The most passages that have a rare word.
 *
 *     passages   1   10   100   1 000   100 000
 *     have it    1    2     4       5         8
 */
function rareMax(passages: number): number {
  return Math.min(Math.ceil(passages / 5), 2 + Math.round(1.1 * Math.log10(passages)));
}

/** Sums of the same numbers differ a little when they are added in another order. */
const ROUNDING = 1e-5;
const GROUPS = 64;

/**
 * Upper bounds of a question: no passage in a block has a larger relevance.
 *
 *     bound = (Σ share · bound of the word + 0.45 · share of the best session) · likelihood
 *
 * A search that has enough results with a larger relevance skips the block, and loses nothing.
 */
export class QuestionBounds {
  /** The blocks that have any word of the question, best bounds first, but for differences below `#groupWidth`. */
  readonly order: Uint32Array;
  #groupWidth = 0;
  readonly #sessions: Uint32Array;
  readonly #evidence: QuestionEvidence;
  readonly #session: number;
  /** By block, the sum of the words' upper bounds. */
  readonly #words: Float32Array;
  /** By block, 1 where the question names a speaker. */
  readonly #named: Uint8Array;
  readonly #likely: number;
  /** `#likely` in a block where the question names a speaker. */
  readonly #likelyNamed: number;

  constructor(
    index: PassageIndex,
    question: Question,
    evidence: QuestionEvidence,
    weights: RankingWeights,
    { bounds: words, named, reached }: ScratchArrays,
  ) {
    this.#sessions = index.columns.session;
    this.#evidence = evidence;
    this.#session = weights.session;
    this.#likely = maxLikelihood(question, false, weights);
    this.#likelyNamed = maxLikelihood(question, true, weights);
    let count = 0;
    for (const { summary, share } of evidence.words) {
      const unit = (share * (1 + weights.saturation)) / BOUND_MAX;
      for (let at = 0; at < summary.blocks.length; at += 1) {
        const block = summary.blocks[at] as number;
        if (words[block] === 0) reached[count++] = block;
        (words[block] as number) += unit * (summary.upperBounds[at] as number);
        if (summary.named[at] === 1) named[block] = 1;
      }
    }
    this.#words = words;
    this.#named = named;
    this.order = this.#ordered(reached.subarray(0, count));
  }

  /** Whether a passage in the block, or in a later one of `order`, can have this relevance. */
  anyCanReach(block: number, relevance: number): boolean {
    return this.#boundInAnySession(block) + this.#groupWidth >= relevance;
  }

  /** Whether a passage in the block can have this relevance. */
  canReach(block: number, relevance: number): boolean {
    if (this.#boundInAnySession(block) < relevance) return false;
    const { sessionShares } = this.#evidence;
    const sessions = this.#sessions;
    let before = 0;
    for (let slot = block * BLOCK; slot < (block + 1) * BLOCK; slot += 1) {
      const session = sessions[slot] ?? 0;
      if (session === before || session === 0) continue;
      if (this.#bound(block, sessionShares[session] as number) >= relevance) return true;
      before = session;
    }
    return false;
  }

  /** The largest likelihood of a passage in the block. */
  likelihood(block: number): number {
    return this.#named[block] === 1 ? this.#likelyNamed : this.#likely;
  }

  #boundInAnySession(block: number): number {
    return this.#bound(block, this.#evidence.bestSessionShare);
  }

  #bound(block: number, sessionShare: number): number {
    const relevance = (this.#words[block] as number) + this.#session * sessionShare;
    return ROUNDING + relevance * this.likelihood(block);
  }

  /** Puts blocks into groups by counting: sorting by the bounds themselves takes longer than it saves. */
  #ordered(blocks: Uint32Array): Uint32Array {
    let best = 0;
    for (let at = 0; at < blocks.length; at += 1) {
      best = Math.max(best, this.#boundInAnySession(blocks[at] as number));
    }
    this.#groupWidth = best / (GROUPS - 1);
    const groupOf = new Uint8Array(blocks.length);
    const places = new Uint32Array(GROUPS + 1);
    for (let at = 0; at < blocks.length; at += 1) {
      const group = Math.floor(
        (best - this.#boundInAnySession(blocks[at] as number)) / this.#groupWidth,
      );
      groupOf[at] = group;
      (places[group + 1] as number) += 1;
    }
    for (let group = 1; group < GROUPS; group += 1) {
      (places[group] as number) += places[group - 1] as number;
    }
    const order = new Uint32Array(blocks.length);
    for (let at = 0; at < blocks.length; at += 1) {
      const group = groupOf[at] as number;
      order[places[group] as number] = blocks[at] as number;
      (places[group] as number) += 1;
    }
    return order;
  }
}
