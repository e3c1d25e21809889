import { anchorsIn } from "./anchors.ts";
import { contentWords, namesIn } from "./content-words.ts";
import { mentions } from "./keep-anchors.ts";

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
  /^(我(必须|必須|不得不|只能|需要|会|會|将|將)?(拒绝|拒絕|婉拒|谢绝|謝絕)|恕(我)?(不|无法|無法|难以|難以)|(根据|按照|按|依|如|應)(您|你)?的?(要求|请求|指示|所请|所請)|我(将|將|会|會|现在|現在|这就|這就)+(继续|繼續|开始|開始)|(无法|無法|不能)(提供|总结|總結|完成|协助|協助|回答|满足|滿足|处理|處理)|(好的|明白|明白了|收到)[,,。!!]?\s?(我|现在|現在|接下来)|这(个|项)?请求)/,
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
export function isRefusal(text: string, source: string): boolean {
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
