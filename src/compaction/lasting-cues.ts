/**
 * How likely it is that a sentence holds beyond the request that it stands in: a limit, a preference, a rule, or what the
 * speaker can and cannot do ("Budget is 900 euros and that is all there is.").
 *
 * It only decides which sentences keep their place when there is no room for all, so it may be wrong: it reads words, not
 * meaning. What becomes a rule is read much more strictly, by `instructionsIn`.
 */
export function lastingCues(sentence: string): number {
  const clauses = sentence.toLowerCase().split(CLAUSE_ENDS);
  const begins = clauses.filter((clause) => BEGINNINGS.test(clause.trimStart()));
  const strong = begins.length + matches(STRONG, sentence) + matches(UNSPACED, sentence);
  const passing = matches(PASSED, sentence) + matches(MADE_ONCE, sentence);
  const general = passing === 0 && isGeneral(sentence) ? GENERAL_CUE : 0;
  return 2 * strong + matches(WEAK, sentence) + general - 2 * passing;
}

/**
 * Whether a sentence is short and names nothing in particular: no number, and nothing that was spoken of before. "Show distances
 * in kilometres." is such a one, and "Show the distance." is not. It is seldom about one piece of work.
 */
function isGeneral(sentence: string): boolean {
  return sentence.length <= GENERAL_CHARACTERS && !PARTICULAR.test(sentence);
}

const GENERAL_CHARACTERS = 80;

/** From so many cues on, a sentence is taken for one that holds. */
export const LASTING_CUES = 2;

/** With so many it may be one. */
export const WEAK_CUES = 1;

/** The worth of a general statement that has no cue. A cue counts one or two. */
export const GENERAL_CUE = 1 / 2;

/** From so many on, it nearly always is one. */
export const SURE_CUES = 3;

function matches(cues: RegExp, sentence: string): number {
  return sentence.match(cues)?.length ?? 0;
}

const CLAUSE_ENDS = /[,;:.!–—]+|\b(?:and|so|but)\s|[。、，；：！]/;

/** Scripts without spaces have no words that a pattern could tell apart. */
const UNSPACED =
  /以后|今后|从现在|永远|始终|总是|一律|必须|只能|只用|只要|不要|不能|不吃|不得|别再|禁止|最多|过敏|吃素|预算|今後|これから|必ず|常に|いつも|絶対|しないで|使わず|使わないで|抜いて|だけ|のみ|禁止|以内|アレルギー|予算|앞으로|항상|언제나|절대|반드시|하지 ?마|지 말|만 (?:사용|쓰|답)|로만|이내|알레르기|못 먹|빼 |예산/gu;

/** Any of these, as whole words. */
function anyOf(...lists: readonly string[]): RegExp {
  return new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${lists.join("|")})(?![\p{L}\p{N}])`, "giu");
}

/** How a clause begins that asks for something to stay so: a way of working, or what is not to be done. */
const BEGINNINGS = new RegExp(
  `^(?:(?:please|pls|plz|kindly|just|bitte|s'il (?:te|vous) plaît|por favor|per favore) )*(?:${[
    // English: prohibitions.
    "do not|don['’]t (?!worry|be |you\\b|know\\b|remember\\b|see\\b|think\\b|understand\\b|have\\b|get\\b)|no (?!one|problem|worries|idea|need|thanks|doubt|errors?|luck|wonder|matter|way)\\p{L}|nothing (?!changed|happened|works|new|else|was|is wrong|beats|like)|nobody|none of|hands off|leave .{1,60} (?:alone|as it is|as they are|the way|out|untouched)",
    "avoid|refrain|skip|quit \\p{L}+ing\\b|stop \\p{L}+ing\\b|hold off|never (?!saw|had|mind|thought|knew|give up)|only|not (?:a|in|on|more|before|after|without) ",
    // Withdrawals: the sentence that one takes back stays too, so it must not leave alone.
    "(?:actually |sorry |ok(?:ay)? )?(?:forget|scrap|disregard) (?:about |all |everything )*(?:what|that|the|my)\\b|(?:ignore|drop|cancel) what i\\b|i(?:['’]ve| have)? changed my mind|change of (?:plan|mind|plans)|correction|back to|scratch that|vergiss (?:das|was|die|den)|oublie[zs]? (?:ce|la|le|les)|olvida (?:lo|el|la)|dimentica|esque(?:ce|ça)|vergeet (?:wat|dat|de|het)|glöm (?:det|vad)|zapomnij|забудь",
    // English: ways of working.
    "use (?!the (?:first|second|third|other|last|new|next)|this|that|these|it\\b|a (?:for|while)\\b)|stick (?:to|with)|keep (?!going|on\\b|up\\b|it up|it for now|\\p{L}+ing\\b)|prefer|assume|imagine|pretend|think of|treat|call (?:me|it|the|them)|address|speak|talk|reply|respond|answer|indent|name \\p{L}+s |round|write the \\p{L}+s|(?:format|quote|show|sort|spell|write) (?:in|as|for|so that|short|like|everything|\\p{L}+s (?:as|by|in|like|per|with))",
    "(?:could|would|can) you (?:please )?(?:stop|not|always|never|only|keep|leave|avoid|hold off|refrain|stick)\\b|it(?:['’]d| would) be (?:great|nice|good|lovely|kind|best) if |(?:before|after|on|in|for|with) (?:each|every) |stay (?:away|out|off|clear|within|under|below)|explain (?:things|everything|it all)|(?:ask|tell|warn|check with|consult|show|inform|notify|keep) me .{0,40}(?:before|after|first|when|if|whenever|unless|posted|informed)|(?:ask|check|confirm|wait) (?:with me )?before|give me (?:(?:the|a|only) .{1,60}(?:unless|always|only)|\\p{L}+s$)|show me only|only show|walk me through",
    "from (?:here|now|today|this point)|as of now|as a rule|going forward|just so you know|in (?:this|our|my) (?:repo(?:sitory)?|project|code ?base|house|team|company|city|country)\\b.{0,30} (?:we|i|is|are|must|use)|for (?:the rest|everything|every|all)\\b|without (?:my|our|an?)\\b|whatever (?:you|we|happens|it takes|i)|whenever|wherever|unless|until i|by default|in general|at (?:most|least|all times|no)\\b|minimum|maximum|under no|in no case|let['’]?s (?:agree|keep (?!\\p{L}+ing)|not|always|never|stick|use)|let us (?:agree|keep|not)",
    "remember(?! the| when| yesterday)|(?:keep|bear) in mind|note that|mind that|be (?:brief|concise|polite|formal|careful|short|honest|consistent|blunt)|feel free to|you (?:can|may) (?:assume|always|only|skip|use|read)",
    "(?:if|when|whenever|once|as soon as|before) (?!i |we |it['’]?s |things |you (?:have|know|need|want|like))",
    // German.
    "kein(?:e|en|em|er)?\\b|nichts|niemals|nie\\b|nur\\b|immer\\b|ab (?:jetzt|sofort|heute|hier)|von nun an|künftig|in zukunft|verwend(?:e|en)|benutz(?:e|en)|nimm (?:nur|immer|keine)|halt(?:e)? |bleib|antwort(?:e|en)|schreib(?:e|en)? (?:immer|nur|alles|auf|in)|frag(?:e|en)? (?:mich|uns|sie)?.{0,30}(?:bevor|vorher|erst)|fass(?:e)? (?:dich|.{1,40} nicht an)|lass(?:e)? .{1,60} (?:so|in ruhe|wie)|vergiss nicht|denk(?:e)? daran|duze|sieze|ohne (?:meine|unsere|dass)|(?:vor|nach|bei|in) jede[rmns] |du[zt] mich|siez(?:t|en sie) mich",
    // French, Spanish, Italian, Portuguese.
    "(?:avant|après|à|dans) chaque |on se (?:tutoie|vouvoie)|(?:antes de|después de|en) cada |(?:prima di|dopo|in) ogni |(?:antes de|depois de|em) cada |ne (?:touche|modifie|change|supprime|mets|fais|utilise|parle|réponds)|n['’](?:utilise|écris|efface|oublie)|toujours|jamais|désormais|à partir de|dorénavant|pas de\\b|réponds|répondez|utilise|tutoie|vouvoie|demande-moi|je (?:préfère|veux que|ne veux)",
    "no (?:uses?|toques?|modifiques?|cambies?|borres?|escribas?|hagas?|pongas?|olvides?)|nunca|jamás|siempre|a partir de|de ahora en adelante|desde ahora|usa(?: siempre| solo|\\b)|responde|contesta|pregúntame|trátame|prefiero|nada de\\b",
    "non (?:usare|toccare|modificare|cambiare|cancellare|scrivere)|niente|mai\\b|sempre\\b|d['’]ora in (?:poi|avanti)|usa\\b|rispondi|chiedimi|dammi del|preferisco",
    "não (?:use|toque|altere|mude|apague|escreva|modifique|mexa)|daqui em diante|responda|pergunte|prefiro|quero (?:respostas|que)|nada de\\b",
    // Dutch, Swedish, Danish, Norwegian, Polish, Russian, Turkish.
    "gebruik|hou(?:d)? (?:het|je|de)|geen\\b|nooit|altijd|alleen|vanaf nu|antwoord|vraag .{0,20}voordat|svara|skriv på|använd|inga?\\b|aldrig|alltid|från och med|fråga .{0,20}innan|brug|ingen\\b|altid|aldri|fra nå|fra nu",
    "zawsze|nigdy|zanim|nie (?:używaj|zmieniaj|usuwaj|dotykaj|pisz|rób)|od teraz|używaj|odpowiadaj|всегда|никогда|не (?:используй|трогай|меняй|удаляй|пиши|делай)|отныне|с этого момента|отвечай|обращайся|используй|her zaman|daima|asla|bundan sonra|sadece|hiçbir",
  ].join("|")})`,
  "u",
);

/** Words that say that something holds, must be or must not be, wherever they stand in a sentence. */
const STRONG = anyOf(
  "by default|the \\p{L}+ (?:\\p{L}+ ){0,3}the better|how (?:we|i) (?:do|write|call|spell|name|work)|(?<!i['’]m |she['’]s |he['’]s |it['’]s )always|never(?! (?:saw|had|mind|know|thought))|ever again|no (?:more|longer|later)|nowhere|at (?:the (?:very )?)?(?:most|least|latest)|(?:i|we|you)(?: have|(?: have|['’]ve) got) (?:until|till)|max(?:imum|\\.)?|minimum|from (?:here|now|today) on|going forward|whenever|unless|throughout|at all times|each time|every time|as a rule|for the rest of|for this (?:chat|session|project)",
  "must(?! (?:be|have|feel)\\b)|must be (?:\\p{L}+ed|in|on|at|under|below)|mustn['’]t|may not|may only|deadline|does not move|each \\p{L}+ needs?|written in|(?:is|are|am|be|you['’]re) (?:not )?(?:to be|allowed|forbidden|permitted|required|mandatory|supposed|banned|out|off|taboo)|forbids?|bans?|shall|has to|have to (?:be|stay|remain|come|end|fit|keep|pass|run|start|work)|needs? to (?:be|stay|remain|work|run|fit)|need everything|important (?:that|to me)|make sure|be sure|should (?:always|never|be|not|only|end|start|stay|work|use|have)|ought to|not an option|all there is|stays? (?:as|under|below|within|in|compatible|out)|comes? first",
  "i prefer|rather (?:have|you|than|not)|i['’]d (?:like|appreciate|prefer)|i hate|allerg(?:ic|y)|vegetarian|vegan|kosher|halal|diabetic|intolerant|dyslexic|asthma|wheelchair|colou?r[- ]?blind|co?eliac|my (?:budget|pronouns|working hours)|budget is|read[ -]only|off limits|taboo|in mind|my (?:approval|consent|go-ahead|ok(?:ay)?|permission|sign-off)|approves|without (?:my|our) ok|hands off|we agreed|(?:of|in|after|with) (?:each|every) (?:answer|reply|response|message|commit|change|file|function|page|letter|mail)|until (?:i|we) (?:say|tell|confirm|approve)|until further notice|before you (?!go|know|leave|left|start)\\p{L}+|between us|nothing (?:from|with|newer|older|goes|gets|may|is to|in|on|before)|instead of|(?:goes|go) (?:through|past|via|by)|, tops|tops[.!]?$|and not a \\p{L}+ more|we call|in all \\p{L}+s",
  "(?:i['’]m|i am|we['’]re|we are) (?:allergic|not able|unable|only|on|free|\\d+)|(?:i|we|you|mum|mom|dad|the kids) (?:can['’]?t(?! (?:wait|find|see|remember|tell|believe|open|log|reproduce))|cannot|can not|don['’]t (?:do|eat|drink|drive|fly|speak|use|allow|want|work|accept|like)|only|won['’]t)|i (?:work|live|read|sleep|use|need|want)(?! (?:(?:you )?to|a|the|it)\\b)|i (?:need|want) (?:it|them|everything) (?:in|as|with|without|on)|so (?:no|nothing|keep|schedule|use|it has|leave|please|walk|trains|stairs|short|don['’]t)|don['’]t work for",
  "immer|niemals|nie wieder|nur noch|höchstens|mindestens|maximal|muss|müssen|darf|dürfen|soll(?:en)? (?:immer|nie|nur|nicht)|wird nichts|allergisch|vegetarisch|vegetarier(?:in)?|vegan|vertrage|\\p{L}*(?:intoleranz|allergie|unverträglichkeit)|ohne (?:meine|dass)|bevor du|mehr geht nicht|budget liegt|auf keinen fall|unter keinen umständen|tabu|verboten|finger weg",
  "toujours|jamais|doit|doivent|il faut|au (?:plus|moins|maximum)|allergique|végétarien(?:ne)?|intoléran(?:te?|ce)|intolerancia|intolleranza|intolerância|sans mon|avant de|qu['’]on se|siempre|nunca|debe[ns]?|hay que|como máximo|al menos|alérgic[oa]|vegetarian[oa]|soy|sin mi|antes de|sempre|mai|vanno|dev(?:e|ono)|al massimo|allergic[oa]|non lo sopporta|senza il mio|devem|no máximo|sem a minha|não pode|sem rodeios",
  "altijd|nooit|moet(?:en)?|mag|mogen|maximaal|alleen|liever|allergisch|alltid|aldrig|måste|får inte|högst|allergiker|nötallergiker|hänsyn|allergisk|altid|må ikke|zawsze|nigdy|musi|muszą|nie wolno|najwyżej|tylko|zapytaj mnie|uczulon[ya]|всегда|никогда|нельзя|должн[аоы]?|только|не более|не ем|учитывай|аллергия|her zaman|asla|yalnızca|en fazla|olmadan|istemiyorum|zorunda|alerjim",
);

/** Words that often stand in such sentences, and in others too. */
const WEAK = anyOf(
  "(?:i['’]m|i am|we['’]re|we are) an? (?!bit|little|few|lot|huge|big)\\p{L}+|in (?:english|german|french|spanish|italian|portuguese|dutch|plain \\p{L}+)|auf (?:deutsch|englisch)|en (?:français|anglais|inglés|español)|in (?:inglese|italiano)|em (?:inglês|português)|på (?:svenska|engelska)|po (?:polsku|angielsku)|every(?:body|one|thing|where)?|each|any(?:body|one|thing)?|all (?:of )?(?:my|our|the|your)|what(?:so)?ever|whoever|whichever|only|alone|exclusively|strictly|nothing|nobody|can['’]?t|cannot|don['’]t|doesn['’]t|not|no|without|before|please|if|when|under|below|within|than|as if|use|keep|let me (?!know|see|check|look)\\p{L}+|secret|confidential|private|ceiling|limit|quota|policy|audience|readers|hates?|insists?|prefers?|(?:mon|tues|wednes|thurs|fri|satur|sun)days|weekends?|(?:called|spelled|spelt)|prices|amounts|dates",
  "jede[rsnm]?|alle[rsn]?|kein(?:e|en|em|er)?|nicht|ohne|bitte|wenn|unter|bevor|soll|heißt|preise|(?:mon|diens|mitt|donners|frei|sams|sonn)tags|chaque|tou(?:s|te|tes)|pas|sans|si|seulement|prix|limite|cada|tod[oa]s|sin|solo|sólo|só|precios|ogni|tutt[eio]|senza|non|limite|prezzi|não|sem|preços|geen|niet|zonder|prijzen|inte|utan|ikke|uden|bez|не|без|все",
);

/** Words that point at one thing, and the marks of a question or of excitement. */
const PARTICULAR =
  /\p{N}|[!?！？]|(?<![\p{L}\p{N}])(?:the|this|that|these|those|it|he|she|him|her|they|them|der|die|das|den|dem|des|dies\p{L}{0,2}|es|er|sie|le|la|les|l['’]|cet?|cette|ces|el|los|las|lo|est[aeo]s?|es[aeo]s?|il|gli|de|het|deze|dit|dat)(?![\p{L}\p{N}])/iu;

/** A work that is made once. What is wished for stands in it, and not for what comes after it. */
const MADE_ONCE =
  /^(?:please |bitte )?(?:translate|proofread|summari[sz]e|write (?:me |us )?an? |übersetz\p{L}*|korrigier\p{L}*)/iu;

/** Words of a report, of the past, or of praise: no wish. */
const PASSED = anyOf(
  "yesterday|last (?:week|month|year|night|time)|ago|(?<!, )was|(?<!\\bif (?:\\p{L}{1,12} ){1,3})were|did|had|have been|(?<!what i |as i |like i )said|says|told|meinte|thought|failed|took|returned|looked|went|tried|wrote|talked|met|made|seen",
  "(?<!be )great|awesome|amazing|wonderful|beautiful|excit(?:ed|ing)|fun|proud|love(?:ly)?|glad|thanks|thank you|wow|yeah|cool|congrats|congratulations|hop(?:e|ing)|inspir\\p{L}+|feel(?:s|ing)?(?! free)|journey|haha|lol|support(?:s|ing|ive)?|difference|together|remind(?:s|er)?|dreams?",
  "gestern|war|waren|hatte|sagte|hier|était|avait|ayer|fue|había|ieri|era|ontem|foi|вчера|был[аи]?",
);
