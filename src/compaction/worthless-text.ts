import { CharacterKinds, sizeAt } from "../text/character-kinds.ts";
import { mix, NumberRuns, SEED, WordNumbers } from "../text/word-numbers.ts";
import { anchorsIn } from "./anchors.ts";
import { contentWords, namesIn } from "./content-words.ts";
import { mentions } from "./keep-anchors.ts";
import { REQUEST_FRAME } from "./summary-request.ts";

/** The reasons why a text cannot be a summary of anything. */
export type Worthlessness = "wordless" | "echo" | "refusal" | "repetition";

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
  if (hasFrame(text, source)) return "echo";
  if (isRefusal(text, source)) return "refusal";
  const pieces = new NumberRuns(all, PIECE_WORDS);
  const isRepetitive = pieces.count >= PIECES_MIN && distinctPart(pieces) < DISTINCT_PART;
  if (isRepetitive && !isAsRepetitive(new Words(source, numbers), pieces)) return "repetition";
  return isEcho(pieces, new Words(asked, numbers)) ? "echo" : undefined;
}

/** Whether a text has a part of the request that frames the record, which the record itself does not have. */
function hasFrame(text: string, source: string): boolean {
  const said = text.replace(/\s+/g, " ");
  return REQUEST_FRAME.some((part) => said.includes(part) && !source.includes(part));
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

/** An echo of the record has so many words of it in a row at least, from three messages. */
const COPIED_WORDS_MIN = 40;
const COPIED_MESSAGES_MIN = 3;

/** The number of words in a row that count as copied, also where a record says everything in the same few words. */
const COPIED_RUN_WORDS = 8;

/** How a record names who speaks; a copy may have it or not. `[User]` is the mark of a summary without a model. */
const SPEAKERS =
  /^[ \t>*_#-]{0,8}(?:\[(?:user|assistant|system|summary of what came before|assistant calls [^\]\n]{1,200}|(?:result|error) of [^\]\n]{1,200})\]|(?:[Uu]ser|[Hh]uman|[Aa]ssistant|AI|[Ss]ystem|[Tt]ool)\b[*_ ]{0,4}:)/gm;

/**
 * Whether most of a text is copied from the record: runs of forty words and more that go on from one message
 * to the next. Quotations of one message are none, and sentences that were picked here and there are none.
 */
export function isCopyOfRecord(text: string, record: readonly string[]): boolean {
  const numbers = new WordNumbers();
  const all = new Words(text.replace(SPEAKERS, "\n"), numbers).all();
  if (all.length < COPIED_WORDS_MIN) return false;
  const runs = new SharedPieces(all, COPIED_RUN_WORDS);
  /** Where one message ends and another begins. */
  const seams = new SharedPieces(all, PIECE_WORDS);
  let end: readonly number[] = [];
  for (const message of record) {
    const own = new Words(message, numbers).all();
    runs.add(own);
    runs.add([...end, ...own.subarray(0, COPIED_RUN_WORDS - 1)]);
    seams.add([...end.slice(1 - PIECE_WORDS), ...own.subarray(0, PIECE_WORDS - 1)]);
    end = [...end, ...own.subarray(1 - COPIED_RUN_WORDS)].slice(1 - COPIED_RUN_WORDS);
  }
  return copiedWords(all, runs, seams) > ECHO_PART * all.length;
}

/** The words in long runs of the record that cross enough seams. */
function copiedWords(all: Uint32Array, runs: SharedPieces, seams: SharedPieces): number {
  let copied = 0;
  for (let start = 0; start < all.length; start += 1) {
    let end = start;
    while (runs.hasAt(end)) end += 1;
    if (end === start) continue;
    const words = end - start + COPIED_RUN_WORDS - 1;
    let crossed = 0;
    // A seam is in two pieces; one that begins a message is enough.
    for (let at = start; at <= start + words - PIECE_WORDS; at += 1) {
      if (seams.hasAt(at) && !(at > start && seams.hasAt(at - 1))) crossed += 1;
    }
    if (words >= COPIED_WORDS_MIN && crossed >= COPIED_MESSAGES_MIN - 1) copied += words;
    start = end;
  }
  return copied;
}

/** The pieces of a text that other texts have too. */
class SharedPieces {
  readonly #words: Uint32Array;
  readonly #pieces: NumberRuns;
  /** By the first place of a piece. */
  readonly #shared: Uint8Array;

  constructor(words: Uint32Array, size: number) {
    this.#words = words;
    this.#pieces = new NumberRuns(words, size);
    this.#shared = new Uint8Array(words.length);
  }

  add(other: ArrayLike<number>): void {
    for (let at = 0; at + this.#pieces.size <= other.length; at += 1) {
      const place = this.#pieces.placeOf(other, at);
      if (place >= 0) this.#shared[place] = 1;
    }
  }

  /** Whether the piece at a place of the text is shared. */
  hasAt(at: number): boolean {
    return this.#shared[this.#pieces.placeOf(this.#words, at)] === 1;
  }
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

/** Beginnings of texts that decline, or say that the work goes on now, where a summary should be. */
const DECLINES: readonly RegExp[] = [
  /^(i|we) ((must|have to|need to|will have to|should|['’]ll have to|am going to|would like to) )?((respectfully|politely|regretfully|kindly) )?(decline|refuse)\b|^(i['’]d|i would) (rather|prefer) not\b|^(i['’]?m|i am) not (comfortable|allowed|permitted|authori[sz]ed|in a position|going to|willing)\b|^(this|that|the|your) (request|task|conversation|content|question) (violates|goes against|is against|can ?not|can['’]t|is not something|is beyond|is outside)|^(this|that)['’ ]?i?s (not )?something (that )?i (can|can['’]t|cannot|am)|^(it is |it['’]s )?against (my|our) (policy|policies|guidelines|rules)|^my (guidelines|policies|instructions|rules) (do not|don['’]t|prevent|prohibit|forbid)|^(regrettably|regretfully)\b|^no[,.] i (can|won|will|am|do|must)|^i regret|^i ((do not|don['’]t) (feel|think) .{0,30}(appropriate|comfortable|should))|^(nothing|there is nothing) to summari[sz]e/,
  /^as (you )?(requested|asked|instructed|told|discussed),? (i|we|let|here)\b|^(i['’]ll|i will|we['’]ll|we will|let me|let['’]s|i am going to|i['’]m going to|i shall|allow me to) (now |then |go ahead and |first )*(continue|proceed|carry on|resume|go on|keep going|get started|start|begin|move on|pick up|summari[sz]e|help you|assist you)\b|^(how (can|may) i (help|assist)|what would you like|is there anything else|let me know)|^(continuing|proceeding|resuming) (with|from|now)\b/,
  /^(ich (muss|möchte|werde) .{0,40}(ablehnen|verweigern|nicht (helfen|zusammenfassen|beantworten))|ich lehne .{0,40}ab|ich verweigere|ich weigere mich|(dabei|dazu|damit|das|dies|diese anfrage|dieser bitte) (kann|darf|werde|möchte) ich .{0,20}nicht|wie (gewünscht|verlangt|gebeten|angefordert|angewiesen)|ich (fahre|mache|arbeite|setze) (nun|jetzt|die) .{0,30}(fort|weiter)|(gerne|natürlich|okay|alles klar)[,.!]? ich (fahre|mache|werde)|ich bedauere|ich bin nicht (in der lage|befugt|berechtigt))/,
  /^(je (dois|vais devoir|me dois de|suis (contraint|obligé)e? de) .{0,20}(décliner|refuser)|je (refuse|décline|regrette)|(comme|ainsi que) (vous l['’]avez )?demandé|il m['’]est impossible|je (vais|continue) (maintenant |à présent )?(continu|poursuiv|repren)|je n['’]ai pas (accès|le droit)|cette demande)/,
  /^((debo|tengo que|he de|me veo obligad[oa] a) (declinar|rechazar|negarme|rehusar)|me (niego|temo que)|(rechazo|declino) |(como|tal como|según) (se )?(lo )?(solicit|pid|ped)|no me es posible|me es imposible|(ahora )?(voy a |procedo a |procederé a )?(continuar|continuaré|seguiré|seguir) (con|ahora|trabajando)|esta solicitud)/,
  /^((devo|sono costrett[oa] a) (declinare|rifiutare)|mi rifiuto|sono spiacente|come richiesto|(ora )?(procedo|continuo|continuerò|proseguo) |(devo|tenho que|tenho de|preciso) (recusar|declinar)|recuso|(como|conforme) (foi )?(solicitado|pedido)|(agora )?vou (agora )?(continuar|prosseguir)|ik moet .{0,30}(weigeren|afwijzen)|ik weiger|zoals (gevraagd|verzocht)|ik ga (nu )?(verder|door))/,
  /^(jag måste (avböja|neka|avstå)|som (du )?(begärt|bad|önskat)|jeg må (afvise|avslå|takke nej)|som (ønsket|forespurgt)|minun (täytyy|on) kieltäy|muszę odmówić|odmawiam|zgodnie z (twoją |pana |pani )?prośbą|musím odmítnout|odmítám|vissza kell utasítan|trebuie să refuz|refuz să)/,
  /^(я (вынужден[аы]?|должен|должна) (отказ|отклон)|(вынужден[аы]?|должен) отказ|я отказываюсь|отказываюсь|как (вы )?(и )?(просили|запрошено|было запрошено)|(сейчас )?я (сейчас )?(продолж)|я змушен|reddetmek zorunda|reddediyorum|bunu (reddet|yapamam)|isteğiniz üzerine|istediğiniz gibi|يجب أن أرفض|أعتذر|أرفض|كما طلبت|עליי לסרב|אני (חייב לסרב|מסרב)|כפי שביקשת)/,
  /^(我(必须|必須|不得不|只能|需要|会|會|将|將)?(拒绝|拒絕|婉拒|谢绝|謝絕)|恕(我)?(不|无法|無法|难以|難以)|(根据|按照|按|依|如|應)(您|你)?的?(要求|请求|指示|所请|所請)|我(将|將|会|會|现在|現在|这就|這就)+(继续|繼續|开始|開始)|(无法|無法|不能)(提供|总结|總結|完成|协助|協助|回答|满足|滿足|处理|處理)|(好的|明白|明白了|收到)[,!。\uff01\uff0c]?\s?(我|现在|現在|接下来)|这(个|项)?请求)/,
  /^((この|その|本)?(ご)?(要求|要望|依頼|リクエスト|質問|会話)(に|は|には|を|について).{0,15}(応じ|お断り|お受け|できません|できかね|お答え)|お断り|(要約|お手伝い|対応|回答|お答え)(は|を|する)?.{0,8}(でき(ません|かね)|いたしかね)|(ご)?(要望|依頼|指示|要求|希望)(の)?(どおり|通り|に従)|それでは.{0,12}(続け|開始|進め)|承知(し|いた)|かしこまり|了解し|(作業|会話)を(続け|再開))/,
  /^((요청|요구|부탁)(하신|에|을|은|대로).{0,25}(거절|사양|수 없|계속|따라)|거절(해야|합니다|하겠)|(도와드릴|요약할|제공할|답변할) 수 없|(이제|지금) .{0,15}계속|알겠습니다|मुझे .{0,30}(मना|अस्वीकार|इनकार)|जैसा (कि )?(आपने )?(कहा|अनुरोध)|tôi (phải|xin) từ chối|theo yêu cầu|saya (harus|terpaksa) menolak|sesuai permintaan|ต้องปฏิเสธ|ขอปฏิเสธ|ตามที่(คุณ)?ขอ)/,
];

/** Words before a refusal that say nothing. */
const ACKNOWLEDGED =
  /^(sure( thing)?|certainly|of course|okay|ok|yes|understood|got it|alright|thanks?|thank you|hello|hi|summary|note|answer|assistant|response)[^\p{L}]{1,8}/u;

/** A refusal longer than this may say something besides. */
const REFUSAL_CHARACTERS_MAX = 700;

/** A text that has so many names and anchors of its source says something, however it begins. */
const SPECIFICS_MIN = 2;

/** The same for so many of its words, where that is the larger part of them. */
const SHARED_WORDS_MIN = 8;
const SHARED_PART = 0.6;

/** Whether a text refuses the task, asks for what it was given, or announces other work, and says nothing of its source. */
function isRefusal(text: string, source: string): boolean {
  if (text.length > REFUSAL_CHARACTERS_MAX) return false;
  let start = text.slice(0, 240).toLowerCase().replace(NOT_A_LETTER, "");
  const begins = () => [...REFUSALS, ...DECLINES].some((form) => form.test(start));
  let isOne = begins();
  for (let times = 0; !isOne && times < 2 && ACKNOWLEDGED.test(start); times += 1) {
    start = start.replace(ACKNOWLEDGED, "").replace(NOT_A_LETTER, "");
    isOne = begins();
  }
  return isOne && !speaksOf(text, source);
}

const NOT_A_LETTER = /^[^\p{L}]+/u;

function speaksOf(text: string, source: string): boolean {
  const specifics = new Set([...namesIn(text), ...anchorsIn(text).map((anchor) => anchor.text)]);
  const named = [...specifics].filter((each) => mentions(source, each));
  if (named.length >= SPECIFICS_MIN) return true;
  const words = new Set(contentWords(text));
  const known = new Set(contentWords(source));
  const shared = [...words].filter((word) => known.has(word)).length;
  return shared >= SHARED_WORDS_MIN && shared >= SHARED_PART * words.size;
}
