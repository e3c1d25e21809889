import { type MemoryHit, matchOfHit } from "../core/memory-store.ts";
import { isChangeWord, isEmptyWord, isPlain, isWeekday, sentencesOf, stem } from "./statements.ts";

/** Longer texts are no notes. */
const TEXT_MAX = 400;
/** The least that the later answer has of the question, as a part of what the older one has. */
const MATCH_MIN = 0.8;
/** The least part of the words of an older answer, without its values, that the question has. What says more is hardly about that alone. */
const SHARED_MIN = 0.25;

/**
 * The results, as places in their order, with later answers to the question before older ones. The later one says that
 * something changed, and has all words of the question that the older one has. Whether they are of the same thing is not
 * known, so neither replaces the other:
 *
 *     who is head of support     Jonas is now head of support, Helen went to sales.
 *                                Helen is head of support.
 */
export function laterAnswersFirst(
  hits: readonly MemoryHit[],
  question: string,
  isLater: (newer: MemoryHit, older: MemoryHit) => boolean,
): readonly number[] {
  const order = hits.map((_, at) => at);
  const asked = [...new Set(subjectWords(question))];
  if (asked.length === 0) return order;
  const read = new Map<MemoryHit, readonly string[]>();
  const sharedOf = (hit: MemoryHit) => {
    const words = read.get(hit) ?? sharedWords(asked, hit);
    read.set(hit, words);
    return words;
  };
  for (const [at, hit] of hits.entries()) {
    const changes = changesIn(hit.content);
    if (changes.length === 0) continue;
    const isAfter = (before: MemoryHit | undefined) =>
      before !== undefined &&
      isLater(hit, before) &&
      matchOfHit(hit) >= MATCH_MIN * matchOfHit(before) &&
      changes.some((change) => hasAll(change, sharedOf(before)));
    const now = order.indexOf(at);
    const place = order.findIndex((other, nth) => nth < now && isAfter(hits[other]));
    if (place >= 0) order.splice(place, 0, ...order.splice(now, 1));
  }
  return order;
}

function sharedWords(asked: readonly string[], { content }: MemoryHit): readonly string[] {
  if (content.length > TEXT_MAX) return [];
  const words = new Set(subjectWords(content));
  const shared = asked.filter((word) => words.has(word));
  const about = new Set([...shared, ...subjectWords(withoutValues(content))]);
  return shared.length >= SHARED_MIN * about.size ? shared : [];
}

/** A text without its numbers and times: what it answers with is not what the question asks about. */
function withoutValues(text: string): string {
  return text
    .replace(ANY_WORD, (word) => (isWeekday(word.toLowerCase()) ? " " : word))
    .replace(VALUE, " ");
}

const VALUE =
  /\p{N}[\p{L}\p{N}.,:/-]*|[每毎]?(?:星期|礼拜|禮拜|[周週])[一二三四五六日天]|[月火水木金土日]曜日?|[上下]午|午[前后後]|[零〇一二三四五六七八九十百千万两]{1,9}[点點时時分秒月日号號年天个個元円岁歳度]/gu;

/** The words of each sentence that says, plainly, that something changed. */
function changesIn(content: string): readonly ReadonlySet<string>[] {
  if (content.length > TEXT_MAX || !saysChange(content)) return [];
  return sentencesOf(content)
    .filter((sentence) => saysChange(sentence) && isPlain(sentence))
    .map((sentence) => new Set(subjectWords(sentence)));
}

/** Two characters of a script without spaces may be those of two words, so one pair of three may be missing. */
const PAIRS_MIN = 2 / 3;

function hasAll(words: ReadonlySet<string>, shared: readonly string[]): boolean {
  const [pairs, others] = [shared.filter(isPair), shared.filter((word) => !isPair(word))];
  const found = pairs.filter((pair) => words.has(pair)).length;
  return (
    shared.length > 0 &&
    others.every((word) => words.has(word)) &&
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
const BEING = new Set(
  `called named located situated heißt heisst hieß befindet appelle appelé trouve llama encuentra chiama trova chama fica
  heet bevindt heter hedder ligger находится называется зовут расположен`.split(/\s+/),
);

function saysChange(text: string): boolean {
  if (CHANGED_PHRASE.test(text)) return true;
  const words = text.toLowerCase().match(ANY_WORD) ?? [];
  return words.some((word) => isChangeWord(word) || CHANGED.has(word));
}

/** More than those that decide what replaced what: here an answer is only put first. */
const CHANGED = new Set(
  `new lower raise increase reduce change postpone move replace switch retired stopped started became becomes
  neu neue neuer neues neuen gestiegen gesunken wechselt gewechselt nouveau nouvelle passé passée augmenté baissé changera
  nuevo nueva subió bajó mudado cambiado pasa nuovo nuova aumentato aumentata diminuito passato passata diventato
  novo nova subiu aumentou nieuw nieuwe verhuisd gestegen voortaan veranderd ny nytt nya nye nyt stället höjd höjdes
  teraz nowy nowa nowe zmienił zmieniła zmieniono przeniesiono przeniesiony wzrósł nyní teď nový nová změna
  новый новая новое новые переехал переехала переехали переехало перешли вырос выросла тепер новий нова змінив змінився
  artık şimdi yeni değişti taşındı yükseldi nyt uusi muuttui már most új mostantól acum nou nouă τώρα πλέον νέο νέα
  이제 이제는 새로 변경 변경됨 변경되었다 변경했다 바뀌었다 바뀌었어 옮겼다 الآن أصبح أصبحت تغير تغيرت الجديد الجديدة अब बदल नया नई`.split(
    /\s+/,
  ),
);

/** Signs of a change of several words, or inside a word of a script without spaces. */
const CHANGED_PHRASE =
  /\b(?:(?:went|goes|gone|is|are) (?:up|down)|any more|from (?:now|today) on|as of now|from today|ne [\p{L}’']+ plus|già non|ya no|já não|nicht mehr|niet meer|inte längre|ikke længere)\b|больше не|вже не|już nie|变更|變更|変更|改成|改為|改为|改到|换成|換成|现在|現在|今は|搬到|不再|涨到|变成|変わ|になった|なりました|新しい|新的|移转|移転/iu;
