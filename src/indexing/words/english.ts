import { stem as stemEnglish } from "porter2";
import { textOf } from "../../text/character-kinds.ts";
import { madeOnce } from "../../text/made-once.ts";
import { wordSet } from "../../text/word-set.ts";
import { ROW, STEM, Vocabulary } from "./vocabulary.ts";
import { KIND, LOWER } from "./word-breaks.ts";

/** Each base form, followed by its other forms. */
const FORMS = `
arise arose arisen, awake awoke awoken, bad worse worst, bear bore borne born, become became, begin began begun,
bend bent, bind bound, bite bit bitten, bleed bled, blow blew blown, break broke broken, breed bred, bring brought,
build built, burn burnt, buy bought, catch caught, child children, choose chose chosen, cling clung, come came,
creep crept, deal dealt, dig dug, draw drew drawn, dream dreamt, drink drank drunk, drive drove driven,
eat ate eaten, fall fell fallen, far further farther, feed fed, feel felt, fight fought, find found, flee fled,
fly flew flown, foot feet, forbid forbade forbidden, forget forgot forgotten, forgive forgave forgiven,
freeze froze frozen, get got gotten, give gave given, go went gone goes, good better best, goose geese,
grind ground, grow grew grown, half halves, hang hung, hear heard, hide hid hidden, hold held, keep kept,
knife knives, know knew known, lay laid, lead led, leaf leaves, learn learnt, leave left, lend lent, lie lain,
life lives, light lit, lose lost, make made, man men, mean meant, meet met, mouse mice, pay paid, person people,
ride rode ridden, ring rang rung, rise rose risen, run ran, say said, see saw seen, seek sought, sell sold,
send sent, sew sewn, shake shook shaken, shelf shelves, shine shone, shoot shot, show shown, shrink shrank shrunk,
sing sang sung, sink sank sunk, sit sat, sleep slept, slide slid, speak spoke spoken, speed sped, spell spelt,
spend spent, spin spun, spring sprang sprung, stand stood, steal stole stolen, stick stuck,
sting stung, strike struck, swear swore sworn, sweep swept, swim swam swum, swing swung, take took taken,
teach taught, tear tore torn, tell told, think thought, throw threw thrown, tooth teeth, understand understood,
wake woke woken, wear wore worn, weave wove woven, wife wives, win won, wind wound, wolf wolves, woman women,
write wrote written
`;

/**
 * The base forms of irregular English words, so that "go" finds "went". Forms that the stemmer
 * handles are not listed.
 */
export const baseForms = madeOnce(
  (): ReadonlyMap<string, string> =>
    new Map(
      FORMS.split(",").flatMap((line) => {
        const [base = "", ...forms] = line.trim().split(/\s+/);
        return forms.map((form): [string, string] => [form, base]);
      }),
    ),
);

/**
 * English words that build a sentence and carry no topic. They are indexed like
 * other words. A search leaves them out of a question that has other words.
 */
export const STOP_WORDS: ReadonlySet<string> = wordSet(`
  a an the this that these those such same own each every any some no nor not only both either neither
  i me my mine myself you your yours yourself he him his himself she her hers herself it its itself
  we us our ours ourselves they them their theirs themselves one ones someone something anyone anything
  everyone everything nothing anybody everybody somebody nobody somewhere anywhere everywhere
  who whom whose which what when where why how while
  am is are was were be been being do does did done doing have has had having
  can could may might must shall should will would let lets
  and or but if so than then too also just very more most much many few other another
  as at by for from in into of off on onto out over to up down with without about after before
  between during through under against because until again here there now
  yes okay ok please
  im ive youre youve youd youll hes shes theyre theyve theyd theyll weve thats whats
  heres theres dont doesnt didnt isnt arent wasnt werent havent hasnt hadnt wont wouldnt cant cannot
  couldnt shouldnt aint
  `);

export function newVocabulary(): Vocabulary {
  const vocabulary = new Vocabulary();
  for (const form of baseForms().keys()) vocabulary.numberOf(form);
  return vocabulary;
}

/** The base form of a word. Irregular forms have the first numbers. */
export function baseIn(vocabulary: Vocabulary, word: number): number {
  if (word >= baseForms().size) return word;
  return vocabulary.numberOf(baseForms().get(vocabulary.textOf(word)) as string);
}

/** The stem of a word: an English one without its ending, so that "painted" finds "painting". Others are their own. */
export function stemIn(vocabulary: Vocabulary, word: number): number {
  const known = vocabulary.rows[ROW * word + STEM] as number;
  if (known !== 0) return known - 1;
  const units = vocabulary.unitsOf(word);
  // Most words are asked for by their stems only, so this text is not kept.
  const stem = isEnglish(units)
    ? vocabulary.numberOf(stemEnglish(textOf(units, units.length)))
    : word;
  vocabulary.rows[ROW * word + STEM] = 1 + stem;
  return stem;
}

function isEnglish(units: Uint16Array): boolean {
  if (units.length === 0 || ENDINGS[units[units.length - 1] as number] === 0) return false;
  for (let at = 0; at < units.length; at += 1)
    if (KIND[units[at] as number] !== LOWER) return false;
  return true;
}

/** The last letters of English endings. The stemmer returns words with other ones as they are. */
const ENDINGS = new Uint8Array(0x10000);
for (const letter of "cdegilmnrsty") ENDINGS[letter.charCodeAt(0)] = 1;
