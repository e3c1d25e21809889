import {
  areBothKept,
  type MemoryEntry,
  type MemoryHit,
  matchOfHit,
  type OtherStatement,
} from "../core/memory-store.ts";
import { wordSet } from "../text/word-set.ts";
import {
  addressOf,
  hasOneValue,
  isChangeWord,
  isEmptyWord,
  isNumberWord,
  isPlain,
  isWeekday,
  mayReplace,
  type Statement,
  sentencesOf,
  statementsIn,
  stem,
  timesOfBoth,
  type Value,
} from "./statements.ts";

/** The end of the past time that a question asks about. Most questions do not need it. */
export type PastEnd = () => number | undefined;

/** Results after these are as they were found. */
const READ_MAX = 40;

/**
 * Results with what holds now before what it replaced. The newer one of two takes the better place, with its score, and each
 * names the other one:
 *
 *     The budget for the kitchen is 900 euros.            replacedBy  1200 euros
 *     Actually the budget for the kitchen is 1200 euros.  replaces    900 euros
 *
 * Nothing is left out. Two statements of which a person said that both hold stay as they were found. So do others, unless
 * they are of the same thing, which all of these say:
 *
 *     who      the same author, and neither a question, a condition, a plan, nor a quotation
 *     what     the words of one are those of the other, but for two at the most
 *     value    each has one of the same kind (a number with its unit, a version, a time, a day, a name), and they differ
 *     grounds  the newer one says that something changed, or names the old value as gone, or a word for something
 *              that has one value stands in both (port, deadline, budget, owner, …), and not the value before it, which
 *              says which one of several it is ("ticket number 17 has no owner")
 *
 * With a question, the later answer to it comes first too, where nothing of this is sure. Then neither names the other.
 * A question about a past time gets what held then, and what was said after the end of that time comes later.
 */
export function newestFirst(
  hits: readonly MemoryHit[],
  question = "",
  pastEnd: PastEnd = () => undefined,
): readonly MemoryHit[] {
  const read = hits.slice(0, READ_MAX);
  const newer = new Map<number, { readonly at: number; readonly change: Change }[]>();
  const statements = new Map<number, readonly Statement[]>();
  const statementsOf = (at: number) => {
    const known = statements.get(at) ?? statementsIn(read[at]?.content ?? "");
    statements.set(at, known);
    return known;
  };
  for (const [at, hit] of read.entries()) {
    // Most say nothing of a change, and are not read closer.
    if (!mayReplace(hit.content) || statementsOf(at).length === 0) continue;
    for (const [older, before] of read.entries()) {
      const change = isLaterOfTwo(hit, before) && changeOf(statementsOf(at), statementsOf(older));
      if (change) newer.set(older, [...(newer.get(older) ?? []), { at, change }]);
    }
  }
  const holding =
    newer.size === 0 ? hits : placed(hits, newer, pastEnd() ?? Number.POSITIVE_INFINITY);
  return question === "" ? holding : withLaterAnswers(holding, question, pastEnd);
}

function withLaterAnswers(
  hits: readonly MemoryHit[],
  question: string,
  pastEnd: PastEnd,
): readonly MemoryHit[] {
  const read = hits.slice(0, READ_MAX);
  const isAnswer = (hit: MemoryHit, before: MemoryHit) =>
    isLaterOfTwo(hit, before) && timeOf(hit) < (pastEnd() ?? Number.POSITIVE_INFINITY);
  const order = laterAnswersFirst(read, question, isAnswer);
  if (order.every((at, place) => at === place)) return hits;
  const moved = order.flatMap((at, place) => inPlaceOf(hits[at], hits[place]));
  return [...moved, ...hits.slice(READ_MAX)];
}

/** A result with the score of the one whose place it takes. */
function inPlaceOf(hit: MemoryHit | undefined, found: MemoryHit | undefined): MemoryHit[] {
  if (!hit || !found) return [];
  const { score, match } = found;
  return [{ ...hit, score, ...(match === undefined ? {} : { match }) }];
}

function isLaterOfTwo(hit: MemoryHit, before: MemoryHit): boolean {
  return isLater(hit, before) && !areBothKept(hit, before);
}

type Newer = ReadonlyMap<number, readonly { readonly at: number; readonly change: Change }[]>;

function placed(hits: readonly MemoryHit[], newer: Newer, until: number): readonly MemoryHit[] {
  const timeAt = (at: number) => timeOf(hits[at]);
  const told = hits.map((hit) => hit);
  for (const [older, all] of newer) {
    const last = all.reduce((one, other) => (timeAt(other.at) > timeAt(one.at) ? other : one));
    const [now, then] = [hits[last.at], hits[older]];
    if (!now || !then) continue;
    told[older] = { ...then, ...told[older], replacedBy: other(now, last.change.now) };
    const said = told[last.at]?.replaces?.time;
    if (said !== undefined && Date.parse(said) > timeAt(older)) continue;
    told[last.at] = { ...now, ...told[last.at], replaces: other(then, last.change.before) };
  }
  for (const places of groupsOf(newer)) {
    const order = places.toSorted((one, other) => heldFirst(timeAt(one), timeAt(other), until));
    const moved = order.map((at) => told[at]);
    for (const [nth, place] of places.entries()) {
      const [hit, found] = [moved[nth], hits[place]];
      if (!hit || !found) continue;
      told.splice(place, 1, ...inPlaceOf(hit, found));
    }
  }
  return told;
}

/** The order of two times: the last one before `until` first, then what came after it. */
function heldFirst(one: number, other: number, until: number): number {
  if (one < until !== other < until) return one < until ? -1 : 1;
  return one < until ? other - one : one - other;
}

function timeOf(hit: MemoryHit | undefined): number {
  return Date.parse(hit?.time ?? "");
}

function other({ id, time }: MemoryEntry, said: string): OtherStatement {
  return { id, said, ...(time === undefined ? {} : { time }) };
}

/** The places of statements of the same thing, each group in order. */
function groupsOf(newer: Newer): readonly (readonly number[])[] {
  const group = new Map<number, Set<number>>();
  for (const [older, all] of newer) {
    for (const { at } of all) {
      if (group.get(older)?.has(at)) continue;
      const both = new Set([older, at].flatMap((one) => [one, ...(group.get(one) ?? [])]));
      for (const one of both) group.set(one, both);
    }
  }
  return [...new Set(group.values())].map((places) => [...places].sort((a, b) => a - b));
}

function isLater(newer: MemoryEntry, older: MemoryEntry): boolean {
  return (
    newer.time !== undefined &&
    older.time !== undefined &&
    Date.parse(newer.time) > Date.parse(older.time) &&
    newer.role === older.role &&
    newer.speaker === older.speaker &&
    newer.kind === older.kind
  );
}

interface Change {
  readonly before: string;
  readonly now: string;
}

function changeOf(newer: readonly Statement[], older: readonly Statement[]): Change | undefined {
  for (const one of newer) {
    for (const other of older) {
      const change = changeBetween(one, other);
      if (change) return change;
    }
  }
  return undefined;
}

const OWN_WORDS_MAX = 2;

function changeBetween(newer: Statement, older: Statement): Change | undefined {
  const now = holdingOnly(newer, older);
  const then = holdingOnly(older, newer);
  for (const value of now) {
    const ofKind = (one: Value) => one.kind === value.kind;
    const [before, ...more] = then.filter(ofKind);
    if (!before || more.length > 0 || now.filter(ofKind).length > 1) continue;
    if (before.key === value.key) continue;
    const namesOld = newer.values.some(({ isGone, key }) => isGone && key === before.key);
    const both = timesOfBoth(newer, older);
    const [one, other] = [addressOf(newer, value.kind, both), addressOf(older, value.kind, both)];
    const shared = [...one].filter((word) => other.has(word));
    const own = Math.min(one.size, other.size) - shared.length;
    const extra = Math.max(one.size, other.size) - shared.length;
    const isSame = own === 0 && extra <= OWN_WORDS_MAX && shared.length >= (extra === 0 ? 1 : 2);
    const isOne = shared.some(hasOneValue);
    const isChange = namesOld
      ? shared.length > 0 || (value.kind === "name" && newer.saysChange)
      : isSame && (newer.saysChange || (isOne && !value.isWhich));
    if (isChange) return { before: before.text, now: value.text };
  }
  return undefined;
}

/** The values of one statement that hold, without those that hold in the other one too. */
function holdingOnly(one: Statement, other: Statement): readonly Value[] {
  const holds = ({ isGone }: Value) => !isGone;
  const isOfBoth = (value: Value) =>
    other.values.some(
      ({ kind, key, isGone }) => !isGone && kind === value.kind && key === value.key,
    );
  return one.values.filter(holds).filter((value) => !isOfBoth(value));
}

/** Longer texts are no notes. */
const TEXT_MAX = 400;
/** The least that the later answer has of the question, as a part of what the older one has. */
const MATCH_MIN = 0.8;
/** The same, where both texts are alike: this part of the shorter one's words, and this many and this part of the question's. */
const ALIKE_MATCH_MIN = 0.7;
const ALIKE_MIN = 0.5;
const ALIKE_WORDS_MIN = 2;
const ALIKE_ASKED_MIN = 0.6;
/** The least part of the words of an older answer, without its values, that the question has. What says more is hardly about that alone. */
const SHARED_MIN = 0.25;

/** A function that works out its answer for each result once. */
function remembered(read: (hit: MemoryHit) => readonly string[]) {
  const known = new Map<MemoryHit, readonly string[]>();
  return (hit: MemoryHit): readonly string[] => {
    const words = known.get(hit) ?? read(hit);
    known.set(hit, words);
    return words;
  };
}

/**
 * The results, as places in their order, with later answers to the question before older ones. The later one says that
 * something changed, and has all words of the question that the older one has. Whether they are of the same thing is not
 * known, so neither replaces the other:
 *
 *     who is head of support     Jonas is now head of support, Helen went to sales.
 *                                Helen is head of support.
 */
function laterAnswersFirst(
  hits: readonly MemoryHit[],
  question: string,
  isLater: (newer: MemoryHit, older: MemoryHit) => boolean,
): readonly number[] {
  const order = hits.map((_, at) => at);
  const asked = [...new Set(subjectWords(question))];
  if (asked.length === 0) return order;
  const wordsOf = remembered(({ content }: MemoryHit) =>
    content.length <= TEXT_MAX ? [...new Set(subjectWords(withoutValues(content)))] : [],
  );
  const isAboutTheSame = (before: MemoryHit, hit: MemoryHit) =>
    areAlike(wordsOf(before), wordsOf(hit), asked);
  const sharedOf = remembered((hit: MemoryHit) => sharedWords(asked, hit));
  for (const [at, hit] of hits.entries()) {
    const changes = changesIn(hit.content);
    if (changes.length === 0) continue;
    const isAfter = (before: MemoryHit | undefined) =>
      before !== undefined &&
      isLater(hit, before) &&
      (matchOfHit(hit) >= MATCH_MIN * matchOfHit(before)
        ? changes.some((change) => hasAll(change, sharedOf(before))) || isAboutTheSame(before, hit)
        : matchOfHit(hit) >= ALIKE_MATCH_MIN * matchOfHit(before) && isAboutTheSame(before, hit));
    const now = order.indexOf(at);
    const place = order.findIndex((other, nth) => nth < now && isAfter(hits[other]));
    if (place >= 0) order.splice(place, 0, ...order.splice(now, 1));
  }
  return order;
}

/**
 * Whether two texts share half of the words of the shorter one, values left out, and the other one has most words of the
 * question that the first one has.
 */
function areAlike(
  one: readonly string[],
  other: readonly string[],
  asked: readonly string[],
): boolean {
  const [few, many] = one.length < other.length ? [one, other] : [other, one];
  const shared = few.filter((word) => hasWord(many, word));
  const ofOne = asked.filter((word) => hasWord(one, word));
  const ofBoth = ofOne.filter((word) => hasWord(other, word));
  return (
    shared.length >= ALIKE_MIN * few.length &&
    ofBoth.length >= ALIKE_WORDS_MIN &&
    ofBoth.length >= ALIKE_ASKED_MIN * ofOne.length
  );
}

/** Also in another form: "owned" for "owns", "taking" for "take". */
function hasWord(words: readonly string[], word: string): boolean {
  return words.includes(word) || words.some((other) => isFormOf(other, word));
}

function isFormOf(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  if (isPair(short) || long.length - short.length > ENDING_MAX) return false;
  return long.startsWith(short.endsWith("e") ? short.slice(0, -1) : short);
}

const ENDING_MAX = 3;

function sharedWords(asked: readonly string[], { content }: MemoryHit): readonly string[] {
  if (content.length > TEXT_MAX) return [];
  const words = subjectWords(content);
  const shared = asked.filter((word) => hasWord(words, word));
  const about = new Set([...shared, ...subjectWords(withoutValues(content))]);
  return shared.length >= SHARED_MIN * about.size ? shared : [];
}

/** A text without its numbers and times: what it answers with is not what the question asks about. */
function withoutValues(text: string): string {
  const named = text.replace(ANY_WORD, (word) => (isTimeOrNumber(word.toLowerCase()) ? " " : word));
  return named.replace(VALUE, " ");
}

function isTimeOrNumber(word: string): boolean {
  return isWeekday(word) || isNumberWord(word);
}

const VALUE =
  /\p{N}[\p{L}\p{N}.,:/-]*|[每毎]?(?:星期|礼拜|禮拜|[周週])[一二三四五六日天]|[月火水木金土日]曜日?|[上下]午|午[前后後]|[零〇一二三四五六七八九十百千万两]{1,9}[点點时時分秒月日号號年天个個元円岁歳度]/gu;

/** The words of each sentence that says, plainly, that something changed. */
function changesIn(content: string): readonly (readonly string[])[] {
  if (content.length > TEXT_MAX || !saysChange(content)) return [];
  return sentencesOf(content)
    .filter((sentence) => saysChange(sentence) && isPlain(sentence))
    .map(subjectWords);
}

/** Two characters of a script without spaces may be those of two words, so one pair of three may be missing. */
const PAIRS_MIN = 2 / 3;

function hasAll(words: readonly string[], shared: readonly string[]): boolean {
  const [pairs, others] = [shared.filter(isPair), shared.filter((word) => !isPair(word))];
  const found = pairs.filter((pair) => words.includes(pair)).length;
  return (
    shared.length > 0 &&
    others.every((word) => hasWord(words, word)) &&
    found >= PAIRS_MIN * pairs.length
  );
}

/** The words of a text that may name a thing, by their stems. */
function subjectWords(text: string): readonly string[] {
  const lower = text.toLowerCase();
  const words = (lower.match(WORD) ?? []).flatMap((word) =>
    isEmptyWord(word) || BEING.has(word) ? [] : [word.includes("_") ? word : stem(word)],
  );
  const pairs = (lower.match(UNSPACED) ?? []).flatMap((run) =>
    Array.from({ length: run.length - 1 }, (_, at) => run.slice(at, at + 2)),
  );
  return [...words, ...pairs];
}

const ANY_WORD = /[\p{L}\p{M}]+/gu;
/** None in a script without spaces, which has pairs instead. */
const WORD =
  /(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー])[\p{L}\p{M}\p{N}_]){3,}/gu;
/** Without hiragana, which mostly has endings. */
const UNSPACED = /[\p{Script=Han}\p{Script=Katakana}ー]{2,}/gu;

function isPair(word: string): boolean {
  return word.length === 2;
}

/** A thing that is somewhere, or is called something, may be said to be so in other words. */
const BEING =
  wordSet(`called named located situated heißt heisst hieß befindet appelle appelé trouve llama encuentra chiama trova chama fica
  heet bevindt heter hedder ligger находится называется зовут расположен`);

function saysChange(text: string): boolean {
  const lower = text.toLowerCase();
  if (CHANGED_PHRASE.test(lower)) return true;
  const words = lower.match(ANY_WORD) ?? [];
  return words.some((word) => isChangeWord(word) || CHANGED.has(word));
}

/** More than those that decide what replaced what: here an answer is only put first. */
const CHANGED =
  wordSet(`new lower raise increase reduce change postpone move replace switch retired stopped started became becomes relocate
  double halve cut instead anymore quit swapped handed transfer cancelled canceled discontinued
  neu neue neuer neues neuen gestiegen gesunken wechselt gewechselt nouveau nouvelle passé passée augmenté baissé changera
  nuevo nueva subió bajó mudado cambiado pasa nuovo nuova aumentato aumentata diminuito passato passata diventato
  novo nova subiu aumentou nieuw nieuwe verhuisd gestegen voortaan veranderd ny nytt nya nye nyt stället höjd höjdes
  teraz nowy nowa nowe zmienił zmieniła zmieniono przeniesiono przeniesiony wzrósł nyní teď nový nová změna
  новый новая новое новые переехал переехала переехали переехало перешли вырос выросла тепер новий нова змінив змінився
  artık şimdi yeni değişti taşındı yükseldi nyt uusi muuttui már most új mostantól acum nou nouă τώρα πλέον νέο νέα
  이제 이제는 새로 변경 변경됨 변경되었다 변경했다 바뀌었다 바뀌었어 옮겼다 الآن أصبح أصبحت تغير تغيرت الجديد الجديدة अब बदल नया नई`);

/** Signs of a change of several words, or inside a word of a script without spaces. */
const CHANGED_PHRASE =
  /\b(?:(?:went|goes|gone|is|are) (?:up|down)|any more|from (?:now|today) on|as of now|from today|ne [\p{L}’']+ plus|già non|ya no|já não|nicht mehr|niet meer|inte längre|ikke længere)\b|больше не|вже не|już nie|变更|變更|変更|改成|改為|改为|改到|换成|換成|现在|現在|今は|搬到|不再|涨到|变成|変わ|になった|なりました|新しい|新的|移转|移転/u;
