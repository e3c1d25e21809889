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
export const BASE_FORMS: ReadonlyMap<string, string> = new Map(
  FORMS.split(",").flatMap((line) => {
    const [base = "", ...forms] = line.trim().split(/\s+/);
    return forms.map((form): [string, string] => [form, base]);
  }),
);
