import { DAY_WORDS, MONTHS, UNITS, WEEKDAYS } from "../../text/time/time-words.ts";
import { wordSet } from "../../text/word-set.ts";
import { isPerson } from "./asked-name.ts";
import { isCommonWord } from "./common-words.ts";
import { foldText } from "./fold-text.ts";
import { askedWords, stem } from "./words.ts";

/**
 * The words of a question that name a thing or a person: behind an article, or with a capital inside a sentence. What is
 * said about a thing can be said in many words. The thing itself is mostly named by its own, so an entry without any of
 * them is about another one:
 *
 *     who holds the key to the library     [key] [library]
 *     how old is the battery room          [battery room]
 *     wie hoch ist die Miete               [Miete]
 *     où est la clé de Mireille            [clé] [Mireille]
 *
 * `names` are the words with a capital. Times, and words that any text may have, are no things.
 */
export function askedThings(
  { isEnglish, names, text, words }: AskedQuestion,
  isKnown: (word: string) => boolean,
): readonly AskedThing[] {
  // "Cancelling the contract" are words to look for.
  if (!text.includes("?") && askedWords(text)[0] === words[0]) return [];
  const named = [...names].filter((name) => !isEnglish || isKnown(name)).map((name) => [name]);
  const pattern = isEnglish ? ENGLISH_THING : ROMANCE_THING;
  // "The engineer Chiara" is named by her name.
  const behind = [...text.matchAll(pattern)].flatMap(({ 0: found, index }) => {
    const thing = askedWords(found);
    const isBeforeName = /^ \p{Lu}/u.test(text.slice(index + found.length));
    const isNamed = thing.some((word) => names.has(word));
    return isNamed || (isBeforeName && words.includes(thing.at(-1) ?? "")) ? [] : [thing];
  });
  return [...named, ...behind]
    .map((thing) => thing.filter((word) => words.includes(word) && mayNameThing(word)))
    .filter((thing) => thing.length > 0);
}

/** The words of a thing. One of them names it. */
export type AskedThing = readonly string[];

/** Whether a text has a word of a thing, or a longer word with it: "Hausarzttermin" of "Arzt". */
export function namesThing(text: string, thing: AskedThing): boolean {
  const folded = foldText(text);
  return thing.some((word) => {
    const form = stem(word);
    return form.length > 3 && folded.includes(form.slice(0, Math.max(4, form.length / 2)));
  });
}

interface AskedQuestion {
  readonly text: string;
  readonly isEnglish: boolean;
  readonly names: ReadonlySet<string>;
  readonly words: readonly string[];
}

/** Two words: in "the battery room is cold" the first two are the thing's. */
const ENGLISH_THING = /(?<=(?<!\p{L})the )[\p{L}\p{N}-]+(?: [\p{L}\p{N}-]+)?/gu;
const ROMANCE_THING =
  /(?<=(?<!\p{L})(?:(?:l[ae]s?|d?es|du|aux?|el|los|d?al|del|il|lo|gli|dei|del?l[ao]|nel(?:la)?) |(?:de|del)?l['’]|d['’]))[\p{L}\p{N}-]+/giu;

/** "Wie viel Uhr", "al posto di". */
const OF_PHRASES = new Set(["uhr", "posto"]);

/** Words for kinds of values. "Mr Petersen: 030 5512" has none, and answers "what is the phone number of Mr Petersen". */
const VALUES = wordSet(
  `number phone telephone mobile email mail address colour color age price cost fee salary date name code pin
  nummer telefon telefonnummer handynummer adresse farbe alter preis kosten gehalt datum kennwort passwort
  numero telephone couleur prix salaire nom telefono direccion edad precio sueldo fecha nombre codigo indirizzo colore eta prezzo stipendio nome codice`,
);

function mayNameThing(word: string): boolean {
  const single = word.replace(/s$/, "");
  const isTime = [MONTHS, WEEKDAYS, DAY_WORDS, UNITS].some(
    (times) => times.has(word) || times.has(single),
  );
  return (
    word.length > 2 &&
    ![OF_PHRASES, VALUES].some((words) => words.has(word)) &&
    !isTime &&
    !isPerson(word) &&
    !isCommonWord(word)
  );
}
