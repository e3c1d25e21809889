import { stem as stemEnglish } from "porter2";
import { madeOnce } from "../../text/made-once.ts";
import { wordSet } from "../../text/word-set.ts";

/**
 * Words that many texts have, whatever they are about. That one of them is in few passages of a small store tells
 * nothing.
 */
const COMMON_WORDS: ReadonlySet<string> = wordSet(`
  ask become begin believe big bit bring buy call care case change check choose come day different easy end enjoy feel
  few find first free friend fun get give go good great guy happen hard help hope idea important keep kind know last late
  learn leave let life like little live long look lot love make mean meet mind month move name need new next nice old
  open own part pay people person place plan point put question read ready real reason right run say see seem send set
  show side sort sound start stay stop sure take talk tell thing think time today top tried try turn two type use
  visit wait walk want way week well wish wonder word work world write wrong year best better big day favorite favourite
  currently recently usually often ever never still always maybe really far ago back away together able
  age charge color colour cost fix height length limit price rate size speed weight width
  one three four five six seven eight nine ten morning afternoon evening night tonight tomorrow yesterday
  number answer example problem result monday tuesday wednesday thursday friday saturday sunday
  `);

/** The same in other languages, folded: the forms that questions have most. */
const COMMON_IN_OTHERS = `
  komme kommt kommen gehe geht gehen mache macht machen gemacht heisst liegt steht finde finden sagt weiss brauche brauchen
  braucht kostet stelle stellen montag dienstag mittwoch donnerstag freitag samstag sonntag
  va vais aller faire fait prend prendre vient trouve lundi mardi mercredi jeudi vendredi samedi dimanche
  va voy ir hacer tiene tengo viene lunes martes jueves viernes domingo
  va vado andare fare viene trova lunedi martedi giovedi venerdi domenica
  vai vou ir fazer vem fica ga gaat gaan doe doet doen komt maandag dinsdag woensdag donderdag vrijdag
  farbe preis alter gewicht grosse hoehe couleur prix taille age poids appelle color precio edad peso llama colore prezzo eta
  chiama cor preco idade chama kleur prijs leeftijd heet heten kost farg farve farge pris alder vikt heter hedder kostar koster
  kolor cena wiek kosztuje цвет цена возраст вес стоит зовут называется
  gar gor kommer ligger mandag tisdag onsdag torsdag fredag
  идти иду делать делает стоит находится понедельник вторник среду четверг пятницу
`;

const commonStems = madeOnce<ReadonlySet<string>>(
  () =>
    new Set(
      [...COMMON_WORDS, ...COMMON_IN_OTHERS.trim().split(/\s+/)].map((word) => stemEnglish(word)),
    ),
);

/** Whether a word is one that any text may have, in any of its forms. */
export function isCommonWord(word: string): boolean {
  const before = known.get(word);
  if (before !== undefined) return before;
  if (known.size === KNOWN_MAX) known.clear();
  const isCommon = COMMON_WORDS.has(word) || commonStems().has(stemEnglish(word));
  known.set(word, isCommon);
  return isCommon;
}

/** Whether a pair of characters is of an ending or a particle of Japanese: られ, ない, に会. */
export function isKana(word: string): boolean {
  return /^\p{Script=Hiragana}/u.test(word);
}

const KNOWN_MAX = 5000;
const known = new Map<string, boolean>();
