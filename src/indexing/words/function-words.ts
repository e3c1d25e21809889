import { isAscii, normalForm } from "../../text/character-kinds.ts";
import { madeOnce } from "../../text/made-once.ts";
import { STOP_WORDS } from "./english.ts";
import { foldText } from "./fold-text.ts";
import { stem } from "./words.ts";

/**
 * Words that build a sentence and carry no topic, by language. The first list of a language tells it; a word of the
 * second is also a word of English or of other languages, and counts only when the language is known:
 *
 *     "Wo ist der Schlüssel?"     wo, ist, der: German     schlussel
 *     "How did they die?"         English                  die
 */
const LISTS: Readonly<Record<string, readonly [own: string, shared: string]>> = {
  german: [
    `der das dem des ein eine einen einem einer eines und oder aber nicht kein keine keinen ist sind waren bin bist
    wird werden wurde wurden haben habe hatte hatten wir ihr sie es mir mich dich uns euch ihm ihn ihnen mein meine
    meinen dein deine unser unsere unseren seine ihre ihren wer wem wen wessen wie wo wohin woher wann warum wieso
    weshalb welche welcher welches welchen womit wofuer wofür worueber worüber von vom zu zum zur bei beim aus nach
    ueber über unter auf für fuer gegen ohne durch ans wenn dass weil ob auch nur noch schon sehr mehr
    dort jetzt kann kannst können koennen konnte soll sollte muss musste müssen muessen wollte wollten moechte
    möchte habt seid sich
    hinter neben zwischen während wegen vor seit alles allem irgendwo jemand niemand diese dieser dieses diesen jener etwas nichts viel viele bitte wurdest gibt gab
    gestern vorgestern heute`,
    "die den was war hat man so in an um bis da ja nein doch mal ich du er am will dir mit im ins als hier alle nie",
  ],
  dutch: [
    `het een niet geen zijn wordt werd worden hebben heeft heb hadden wij jij zij ik hij haar onze mijn
    jouw jullie wat wie waar wanneer waarom hoe welke welk van voor naar bij uit op onder tegen zonder als omdat
    ook nog maar kunnen moet moeten zal zou deze dit dat daar hier meer veel alstublieft gisteren eergisteren vandaag`,
    "de en is was in om of over te al aan er had met door hem kan waren ons nu iets niets alles iemand niemand ergens",
  ],
  swedish: [
    `och att det som är inte ett jag han hon dem sitt sina mitt ditt dina vår vårt våra
    vad vem när varför hur vilken vilket vilka med från på av för om eller också har hade kunde ska
    skulle måste där här nu mycket blir blev igår idag`,
    "den de en i du ni man ha så sin min mina din var till men bara vi kan något någon några inget alla allt",
  ],
  // And Norwegian.
  danish: [
    `hva hvilke noe noen disse kva og det som er var ikke et jeg han hun dem sit sine mit dit vores hvad hvem hvor
    hvornår hvorfor hvordan hvilken hvilket hvilke med fra til på af eller også kun havde kunne skal
    skulle må der nu meget bliver blev hva når`,
    "den de en i du man for om så at her har sin min mine din dine men vi kan noget nogen alle alt intet",
  ],
  french: [
    `le un une du et où mais ne pas ce cette ces cet je il elle nous vous ils elles mon ma mes ton ta tes
    notre nos votre vos leur leurs sont était étaient êtes sommes suis ai avons avez ont avait qui que quoi quel
    quelle quels quelles quand comment pourquoi combien dans avec chez vers sans entre depuis aux au sur sous qu
    est-ce été être avoir fait cela nos c'est il y très aussi donc lequel laquelle quelque quelques`,
    "on me te se de a en y pour plus si son sa ses as l d c s j n m t par ou ca ça la les des tu est rien tout toute tous toutes",
  ],
  spanish: [
    `el los las una unos unas y pero lo le les mi mis tu tus su sus nuestro nuestra nuestros yo tú él ella
    nosotros ustedes ellos es eran está están estaba fue fueron hay ha han había he hemos qué que quién quien
    quiénes cuál cual cuáles cuándo cuando dónde donde cómo como cuánto cuántos cuánta por porque del al ayer anteayer hoy
    desde hasta entre sobre este esta esto ese esa eso estos estas muy también ya cuya alguien nadie`,
    "la de en a un no me se te si sin o u e sea son más era con para algo nada todo toda todos todas",
  ],
  italian: [
    `il lo gli uno una ma non che chi cosa quale quali quando perché come quanto quanti della dello delle dei
    degli del dal dalla nel nella nelle nei sul sulla tra fra è sono erano ho hai ha abbiamo hanno aveva stato
    mio mia nostro nostra loro suo sua questo questa quello quella vi anche più molto cos'è dov'è ieri oggi`,
    "la le i in a un per di da al su se me te o io come dove con era e ed si ci qualcosa niente tutto tutti tutte qualche nessuno",
  ],
  portuguese: [
    `o uma mas não que quem qual quais quando onde como porque porquê por quanto quantos da dos das na
    nos nas ao aos à às pelo pela é são eram está estão estava foi foram tem têm tinha meu minha nosso
    nossa seu sua este esta isso isto esse essa ele ela nós eles você vocês também muito já ontem hoje`,
    "a de em se me te ou eu sem as no do com para os um e era algo nada tudo todo todos alguém algum alguma",
  ],
  hungarian: [
    `az és egy hogy nem hol mikor miért kinek melyik hány vannak lesz már még csak ez ezt azt nekem mennyi milyen hova
    honnan vagy`,
    "a is de meg én te ki mi mit van volt",
  ],
  romanian: [
    `și este sunt unde când cine cât câte câți pentru fost avem află noastră nostru dacă după până`,
    "se un o de a în in pe ce care cu la nu mai era din au am al ale mea meu",
  ],
  polish: [
    `ze nie się jest są był była było były że jak kto co gdzie kiedy dlaczego czemu który która które
    czy lub oraz dla po przez przy nasz nasza nasze mój moja moje twój jego jej ich mamy mam ma już tylko
    też te tego tej jaki jaka jakie ile wczoraj dzisiaj dziś`,
    "a o by za i to do ten ta ale od pod nad na z w",
  ],
  turkish: [
    `ve bir şu nerede nereye neden niçin niye nasıl kimin hangi hangisi kaç mı mu mü için ile ama veya
    değil yok siz onlar benim bizim senin onun çok daha gibi kadar olan oldu nedir zaman hakkında göre dün bugün`,
    "o sen her en ben kim da de mi var biz bu ne",
  ],
  finnish: [
    `ja on ei ole oli olivat olen että hän minä sinä te mikä mitä missä mistä mihin milloin koska miksi
    miten kuka kenen kuinka mutta tai myös vain kun jos niin tämä tuo nämä kanssa meidän minun sinun mikä onko`,
    "me he on se ne",
  ],
  russian: [
    `и в во не что он она оно они на я мы вы ты с со как а то все это этот эта эти но да к ко у из за от по до для о об
    про при же ли бы был была было были есть нет меня мне нас нам вас вам его ее её их им мой моя мое наш наша наше
    наши ваш ваша свой где куда откуда когда почему зачем кто кого кому чем чего какой какая какое какие который которая
    которые сколько чей чья так уже еще ещё только или если чтобы там тут здесь сейчас всё все всех нибудь ничего никто`,
    "",
  ],
  ukrainian: [
    `і й та що він вона воно вони ми ви ти я як це цей ця ці але з із зі у в на до від для про при за не є був була було
    були де куди звідки коли чому навіщо хто кого кому чого який яка яке які скільки чий наш наша наші мій моя мене нас
    вас його її їх чи або якщо щоб там тут зараз`,
    "",
  ],
  arabic: [
    `في من على إلى الى عن مع ما ماذا هل أين اين متى كيف لماذا لما من كم أي اي هذا هذه ذلك تلك هو هي هم نحن أنا انا انت أنت
    كان كانت يكون لا لم لن و أو او ثم التي الذي الذين أن ان إن قد كل بين`,
    "",
  ],
  hebrew: [
    `של על את מה מי איפה מתי למה מדוע איך כמה איזה איזו הוא היא הם אני אנחנו אתה אתם זה זאת זו עם אל לא כן או אבל גם רק
    יש אין היה הייתה היו כי אם שלנו שלי`,
    "",
  ],
};

interface Language {
  readonly name: string;
  readonly own: ReadonlySet<string>;
  /** Its own, and those that it shares with others. Few questions need more than one language's. */
  readonly all: () => ReadonlySet<string>;
}

const allLanguages = madeOnce<readonly Language[]>(() =>
  Object.entries(LISTS).map(([name, [own, shared]]) => {
    const telling = new Set(folded(own));
    return { name, own: telling, all: madeOnce(() => new Set([...telling, ...folded(shared)])) };
  }),
);

function folded(list: string): string[] {
  return foldText(list)
    .split(/[\s'-]+/)
    .filter(Boolean);
}

/** The language of a question, and its words that carry no topic. */
export interface FunctionWords {
  /** `undefined` in English, and where it is not known. */
  readonly language: string | undefined;
  readonly words: ReadonlySet<string>;
}

const NONE: FunctionWords = { language: undefined, words: new Set() };

/**
 * The words of a question's language that carry no topic, besides the English ones: those of the language that most of
 * its words are function words of. None for a question in English, or in a language that is not known.
 */
export function functionWordsIn(
  words: readonly string[],
  hasForeignLetters = false,
): FunctionWords {
  const english = words.filter((word) => STOP_WORDS.has(word)).length;
  let best: { readonly found: FunctionWords; readonly count: number } | undefined;
  for (const { name, own, all } of allLanguages()) {
    if (!words.some((word) => own.has(word))) continue;
    const count = words.filter((word) => all().has(word)).length;
    // "för" is folded to the English "for".
    const isLikelier = count > english || (hasForeignLetters && count === english);
    if (isLikelier && count > (best?.count ?? 0))
      best = { found: { language: name, words: all() }, count };
  }
  return best?.found ?? NONE;
}

/** Letters that tell a language, where its function words do not. */
const tellingLetters = madeOnce<
  readonly (readonly [letters: RegExp, languages: readonly string[]])[]
>(() => [
  [/[іїєґ]/i, ["ukrainian"]],
  [/\p{Script=Cyrillic}/u, ["russian"]],
  [/\p{Script=Arabic}/u, ["arabic"]],
  [/\p{Script=Hebrew}/u, ["hebrew"]],
  [/ß/, ["german"]],
  [/[øæ]/i, ["danish"]],
  [/å/i, ["swedish", "danish"]],
  [/ñ|[¿¡]/i, ["spanish"]],
  [/[ãõ]/i, ["portuguese"]],
  [/[őű]/i, ["hungarian"]],
  [/[ğış]/, ["turkish"]],
  [/[ąęłńśźż]/i, ["polish"]],
  [/[țșă]/i, ["romanian"]],
  [/[äöü]/i, ["german", "swedish", "finnish"]],
]);

/** The languages that a text may be in, by its letters; none for letters that many languages have. */
export function languagesByLetters(text: string): readonly string[] {
  return isAscii(text) ? [] : (tellingLetters().find(([letters]) => letters.test(text))?.[1] ?? []);
}

/**
 * Some words that most texts of a language have, as they are in the index. A store that has them has that language.
 */
export const tellingWords = madeOnce<ReadonlyMap<string, readonly string[]>>(
  () =>
    new Map(
      Object.entries({
        german: "und ist der das für wird nicht auf",
        dutch: "het een van voor niet naar wordt",
        swedish: "och som det inte är på",
        danish: "og er det ikke på til af som",
        french: "le les dans est une pour sur",
        spanish: "el los del las una por está",
        italian: "il che della di per sono gli",
        portuguese: "não uma os da em está",
        hungarian: "az egy és nem",
        romanian: "și este la nu",
        polish: "nie jest się na",
        turkish: "bir ve için bu",
        finnish: "ja ei oli se",
      }).map(([language, list]) => [language, foldText(list).split(" ").map(stem)]),
    ),
);

/**
 * A text without the phrases that make a question in scripts without spaces, and without the particles between
 * their words: 为什么不用Kafka is 不用Kafka, and サーバーはどこですか is サーバー.
 */
export function withoutPhrases(text: string): string {
  return UNSPACED.test(text)
    ? normalForm(text, "NFC").replace(PHRASES, " ").replace(PARTICLES, " ")
    : text;
}

const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

/** Longer ones first, because the first that fits is taken. */
const PHRASES = new RegExp(
  `
  [它他她这這那]?[是在]?(?:什么时候|什麼時候|为什么|為什麼|怎么样|怎麼樣|什么|什麼|怎么|怎麼|怎样|怎樣|哪里|哪裡|哪儿|哪个|哪個|哪些|多少|几点|幾點|几号|幾號|星期几|周几|哪天|哪一天|何时|何時|谁|誰)
  (?:我|我们)?(?:记|写|说|聊|讨论|提)(?:了|过|到|下)(?:什么|啥|哪些)|关于|關於|有关|请问|請問|有没有|有沒有|是不是|我们|我們|你们|你們|他们|他們|[吗嗎呢吧]
  について|に関して|どうして|どうやって|どのように|どのくらい|なんですか|何ですか|なぜ|いつ|どこ|どの|どれ|どう|だれ|いくつ|いくら|何時|何
  でしょうか|でしたか|ですか|ましたか|ますか|でした|です|あります|ありますか
  무엇인가요|무엇을|무엇|언제|어디에|어디서|어디|누가|누구|어떻게|어떤|얼마나|얼마|몇|왜|인가요|입니까|있나요|있습니까
  ทำไม|อะไร|ที่ไหน|เมื่อไหร่|เมื่อไร|อย่างไร|ยังไง|ใคร|เท่าไร|เท่าไหร่|หรือไม่|ไหม`
    .trim()
    .replace(/\s+/g, "|"),
  "gu",
);

const PARTICLES =
  /(?<=[\p{Script=Han}\p{Script=Katakana}ー])[はがをにでのへと](?=[\p{Script=Han}\p{Script=Katakana}A-Za-z0-9\s？?。]|$)/gu;
