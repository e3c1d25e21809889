import { CharacterKinds, sizeAt } from "../text/character-kinds.ts";
import { mix, NumberRuns, SEED, WordNumbers } from "../text/word-numbers.ts";

/** The reasons why a text cannot be a summary of anything. */
export type Worthlessness = "wordless" | "echo" | "refusal" | "repetition";

/**
 * Beginnings of texts that refuse the task, or ask for the conversation that was
 * given. One line a language.
 */
const REFUSALS: readonly RegExp[] = [
  /^(i['’]?m |i am |we are )?(so |very |truly )?(sorry|afraid)\b|^(my )?apologies|^unfortunately,? (i|there|no|the)\b|^as an? (ai|language model)|^(i|we) (can['’]?t|cannot|can not|could ?n['’]t|am (not able|unable)|do(n['’]t| not) (have|see)|won['’]t|will not|am not able|did not receive|didn['’]t receive)\b|^i['’]m (not able|unable)|^(it (looks|seems|appears)|there (is|was)|there['’]s|you (have ?n['’]t|have not|did ?n['’]t)) .{0,40}(no|provided?|missing|shared?|include|empty|attached?)|^(sure|certainly|of course|okay|ok|yes)?[,.! ]*(please|could you|can you|would you|kindly) .{0,30}(provide|share|paste|send|supply|give)|^no (conversation|text|record|content|messages?) (was|were|has|to|is|provided)/,
  /^(es tut mir leid|tut mir leid|leider|entschuldigung|ich (kann|darf|bin nicht|habe keine)|(bitte|können sie|könntest du).{0,40}(stell|teil|send|schick|füg|gib|geb|bereit))/,
  /^(je suis (désolé|navré)|désolé|malheureusement|je ne (peux|suis|dispose|vois)|(veuillez|pouvez-vous|merci de|pourriez-vous).{0,30}(fourni|partag|envoy|coll))/,
  /^(lo siento|lamentablemente|disculp|no puedo|no (tengo|veo|hay)|(por favor|podrías|puedes).{0,30}(proporcion|compart|envía|pega))/,
  /^(mi dispiace|purtroppo|non posso|non (ho|vedo|sono)|(per favore|potresti|puoi|si prega).{0,30}(forni|condivid|invia|incolla))/,
  /^(desculp|lamento|sinto muito|infelizmente|não (posso|consigo|tenho|vejo)|(por favor|poderia|pode).{0,30}(forne|compartilh|envi|col))/,
  /^(het spijt me|sorry|helaas|ik kan (niet|geen|je|u|dit)|(graag|kunt u|kun je|gelieve).{0,30}(geef|deel|stuur|plak|verstrek))/,
  /^(jag är ledsen|tyvärr|förlåt|jag kan (inte|ej)|jeg beklager|beklager|desværre|jeg kan ikke|valitettavasti|en voi)/,
  /^(przepraszam|niestety|nie mogę|(proszę|czy możesz).{0,30}(podaj|podać|prześl|udostępn)|omlouvám|bohužel|nemohu|sajnálom|sajnos|nem tudok|îmi pare rău|din păcate|nu pot)/,
  /^(извините|простите|к сожалению|я не (могу|вижу|имею)|мне жаль|(пожалуйста|не могли бы).{0,40}(предостав|пришл|отправ|подел)|вибачте|на жаль|я не можу)/,
  /^(üzgünüm|özür|maalesef|ne yazık|(lütfen).{0,40}(sağla|paylaş|gönder)|عذر|آسف|للأسف|لا (أستطيع|يمكنني)|يرجى|סליחה|מצטער|לצערי|אינני יכול|متاسف|متأسف|معذرت)/,
  /^(抱歉|很抱歉|对不起|對不起|非常抱歉|我(无法|不能|沒辦法|無法|没有)|作为(一个)?(人工智能|ai)|请(您)?(提供|分享|发送|把)|請(您)?(提供|分享))/,
  /^(申し訳|すみません|ごめん|恐れ入りますが|残念ながら|会話(の内容)?を(ご)?(提供|共有|入力)|要約できません)/,
  /^(죄송|미안|유감|안타깝|저는.{0,20}(없습니다|못합니다)|대화.{0,20}(제공|공유))/,
  /^(क्षमा|माफ|खेद|मुझे खेद|मैं.{0,30}नहीं|कृपया.{0,40}(प्रदान|साझा|भेज)|xin lỗi|rất tiếc|tôi không thể|maaf|mohon maaf|saya tidak (dapat|bisa)|ขออภัย|ขอโทษ|เสียใจ)/,
];

/** A refusal longer than this may say something besides. */
const REFUSAL_CHARACTERS_MAX = 700;

/** A text is repetitive when a smaller share of its n-grams is distinct. */
const PIECE_WORDS = 3;
const DISTINCT_PART = 0.4;
const PIECES_MIN = 8;

/** The distinct share of the source may be this many times that of the text. */
const AS_REPETITIVE = 1.5;

/** A text is an echo when this share of it stands in the prompt. */
const ECHO_PART = 0.5;

/**
 * The reason why a text is no summary of `source`. `asked` is the prompt.
 * Undefined when it may be one.
 */
export function worthlessness(
  text: string,
  asked: string,
  source: string,
): Worthlessness | undefined {
  const numbers = new WordNumbers();
  const words = new Words(text, numbers);
  const all = words.all();
  if (words.characters < 3) return "wordless";
  if (text.length <= REFUSAL_CHARACTERS_MAX && isRefusal(text)) return "refusal";
  const pieces = new NumberRuns(all, PIECE_WORDS);
  const isRepetitive = pieces.count >= PIECES_MIN && distinctPart(pieces) < DISTINCT_PART;
  if (isRepetitive && !isAsRepetitive(new Words(source, numbers), pieces)) return "repetition";
  return isEcho(pieces, new Words(asked, numbers)) ? "echo" : undefined;
}

/** Whether a text is repetitive only because its source is. */
function isAsRepetitive(source: Words, pieces: NumberRuns): boolean {
  if (!isEcho(pieces, source)) return false;
  return (
    distinctPart(new NumberRuns(source.all(), PIECE_WORDS)) <= distinctPart(pieces) * AS_REPETITIVE
  );
}

function distinctPart(pieces: NumberRuns): number {
  return pieces.distinct / Math.max(1, pieces.count);
}

/** Whether another text has enough of the pieces to be echoed. It is read until that is known. */
function isEcho(pieces: NumberRuns, words: Words): boolean {
  const seen = new Set<number>();
  let common = 0;
  for (let at = 0; words.has(at + PIECE_WORDS); at += 1) {
    const place = pieces.placeOf(words.numbers, at);
    if (place < 0 || seen.has(place)) continue;
    seen.add(place);
    common += pieces.countAt(place);
    if (common >= ECHO_PART * pieces.count) return true;
  }
  return false;
}

function isRefusal(text: string): boolean {
  const start = text
    .slice(0, 200)
    .toLowerCase()
    .replace(/^[^\p{L}]+/u, "");
  return REFUSALS.some((refusal) => refusal.test(start));
}

/** The words of a text as numbers, read when they are asked for. In a script without spaces each character is a word. */
class Words {
  /** No text has more words than characters. A list that grows is copied again and again. */
  readonly numbers: Uint32Array;
  /** How many characters the words have that were read. */
  characters = 0;
  readonly #text: string;
  readonly #kinds: Uint8Array;
  readonly #known: WordNumbers;
  #count = 0;
  #at = 0;

  constructor(text: string, known: WordNumbers) {
    this.#text = text.toLowerCase();
    this.#kinds = KINDS.of(this.#text);
    this.#known = known;
    this.numbers = new Uint32Array(this.#text.length);
  }

  /** Whether there are at least `count` words. */
  has(count: number): boolean {
    if (count > this.#count) this.#read(count + WORDS_AT_ONCE);
    return count <= this.#count;
  }

  all(): Uint32Array {
    this.#read(this.#text.length);
    return this.numbers.subarray(0, this.#count);
  }

  #read(countMax: number): void {
    const text = this.#text;
    const kinds = this.#kinds;
    let at = this.#at;
    while (at < kinds.length && this.#count < countMax) {
      const start = at;
      const kind = kinds[at];
      at += kind === LONE ? sizeAt(text, at) : 1;
      if (kind === OTHER) continue;
      let hash = mix(SEED, text.charCodeAt(start));
      if (kind === LETTER) {
        for (; at < kinds.length && kinds[at] === LETTER; at += 1) {
          hash = mix(hash, text.charCodeAt(at));
        }
      } else if (at > start + 1) hash = mix(hash, text.charCodeAt(start + 1));
      this.numbers[this.#count] = this.#known.numberOf(text, start, at, hash);
      this.#count += 1;
      this.characters += at - start;
    }
    this.#at = at;
  }
}

const WORDS_AT_ONCE = 500;
const OTHER = 1;
const LETTER = 2;
/** A character of a script without spaces. */
const LONE = 3;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const KINDS = new CharacterKinds((character) => {
  if (UNSPACED.test(character)) return LONE;
  return /[\p{L}\p{M}\p{N}]/u.test(character) ? LETTER : OTHER;
});

/** An answer longer than this is not a bare error, however it begins. */
const ERROR_TEXT_CHARACTERS_MAX = 1000;

/** How a text begins that a failing program put in the place of an answer. */
const ERROR_TEXTS: readonly RegExp[] = [
  /^(\w*error|\w*exception|fatal|panic)\s*((\(.*?\)|\[.*?\]|code|\d+)\s*)?[:=]/i,
  /^(an |unknown |unexpected |internal |api |http |server |network |request |model )*(error|exception) (\w+ ){0,2}(generating|creating|summari[sz]ing|while|during|occurred|has occurred|calling|from)\b/i,
  /^(http |status |error )*(code )?[45]\d\d\b[\s:-]*(status|error|too many|bad|unauthorized|forbidden|not found|internal|service|gateway|request|overloaded|$)/i,
  /^(the )?(request|call|summary|summari[sz]ation|compaction|generation)( generation)? (has )?(failed|timed out|was aborted|was cancelled|is unavailable|unavailable)\b/i,
  /^(failed|unable|could not|cannot|can't) (to )?((generate|create|produce|write|complete|get|fetch) (an? |the )?(summary|response|answer|completion|request)|summari[sz]e)\b/i,
  /^(rate limit( exceeded| reached)?|quota exceeded|too many requests|service unavailable|internal server error|bad gateway|gateway time-?out|connection (refused|reset|error)|timed? ?out|request timeout|overloaded|prompt is too long|invalid api key|unauthorized|forbidden)\s*([.:;!,(]|$)/i,
  /^traceback \(most recent call last\)/i,
  /^\{\s*"(error|errors|type"\s*:\s*"error|status"\s*:\s*"?(error|[45]\d\d))\b/i,
  /^(undefined|null|nan|none|n\/a|object \w+\])\W*$/i,
];

/**
 * Whether a text is an error's message instead of a summary. Programs that
 * swallow exceptions return such texts as answers; taken for a summary, one
 * would replace a whole history.
 */
export function looksLikeError(text: string): boolean {
  const start = text.replace(/^[^\p{L}\p{N}{]+/u, "").trimEnd();
  return text.length <= ERROR_TEXT_CHARACTERS_MAX && ERROR_TEXTS.some((error) => error.test(start));
}
